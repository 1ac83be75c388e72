// Package link is the network between two parts, in a process of its own: a TCP
// proxy whose connections can be cut, frozen and delayed while they are used.
//
// A [Link] leads to one part; [Listen] puts one or several links behind an
// address, in turn. It imports the standard library alone.
package link
