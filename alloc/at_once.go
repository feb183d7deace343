package alloc

import (
	"sync"
	"sync/atomic"
)

// readersAtOnce is how many things of a list are read at once.
const readersAtOnce = 8

// someAtOnce reads each thing of a list, some of them at once and in whatever order; the answer has the order of the list.
func someAtOnce[T, R any](list []T, read func(T) R) []R {
	all := make([]R, len(list))
	var taken atomic.Int64
	var readers sync.WaitGroup
	for range min(readersAtOnce, len(list)) {
		readers.Go(func() {
			for i := taken.Add(1) - 1; i < int64(len(list)); i = taken.Add(1) - 1 {
				all[i] = read(list[i])
			}
		})
	}
	readers.Wait()
	return all
}
