// Command faults proves, again and again, that nothing is lost: it runs the real
// thing under load, breaks it everywhere, and then holds what callers were told
// against what is there.
//
//	go run ./internal/faults -seed 7 -duration 10m
//
// Two server processes stand behind a round-robin, before a Temporal and a
// Postgres process; a proxy of its own (package link) lies between any two. Many
// agents and people work on many runs over MCP, and repeat every call under its
// requestId until they have a definite answer. Meanwhile the seed's schedule
// kills, stops and restarts the parts, breaks, freezes and delays what connects
// them, and ends servers at the worst moments (package faultpoint). What is
// checked afterwards is listed in docs/reliability.md; whether the writes of
// each run can have happened one after the other is for package model to say.
//
// Everything the harness chooses follows from the seed: the schedule, and each
// client's choices in the order in which it makes them. What the parts make of it
// does not, so a seed finds again what it found before often, not always. It
// exits with 1 when something was violated, and then leaves its folder behind.
//
// Start at main.go. It may import anything; nothing imports it.
package main
