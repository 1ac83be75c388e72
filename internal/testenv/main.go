package testenv

import (
	"os"
	"sync"
	"testing"
)

var (
	atEnd   []func()
	atEndMu sync.Mutex
)

// Main runs a package's tests, stops what they had started, and exits:
//
//	func TestMain(m *testing.M) { testenv.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	atEndMu.Lock()
	defer atEndMu.Unlock()
	for i := len(atEnd) - 1; i >= 0; i-- {
		atEnd[i]()
	}
	os.Exit(code)
}

func whenDone(stop func()) {
	atEndMu.Lock()
	defer atEndMu.Unlock()
	atEnd = append(atEnd, stop)
}
