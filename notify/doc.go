// Package notify tells people of work: that there is some, that it was
// escalated, that it is overdue.
//
// A [Notification] says where to look and nothing of what is there: no run
// data, no token, no URL that opens anything. A [Channel] carries it; the one
// here is [Log], mail and webhooks join beside it.
//
// It imports the standard library alone. Start at [Channel].
package notify
