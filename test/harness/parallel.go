package harness

import (
	"sync"
	"testing"
	"time"
)

// Workers is how many requests are under way at once where many are sent.
const Workers = 8

// InParallel calls do for 0 to n-1 from all Workers and reports how often it failed, with the first few errors.
func InParallel(t testing.TB, n int, do func(i int) error) {
	t.Helper()
	begin := time.Now()
	jobs := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for range Workers {
		wg.Go(func() {
			for i := range jobs {
				if err := do(i); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	for i := range n {
		jobs <- i
	}
	close(jobs)
	wg.Wait()
	t.Logf("%d requests in %v", n, time.Since(begin).Round(time.Millisecond))
	if len(errs) > 0 {
		t.Errorf("%d of %d requests are wrong, the first: %v", len(errs), n, errs[:min(3, len(errs))])
	}
}
