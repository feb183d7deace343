package alloctest

import (
	"fmt"
	"reflect"
	"time"
)

// filled is a value in which no field is zero, and no two alike: so that a field which an engine does not store shows. Times
// are whole seconds from the time given on; of lists there are two entries.
func filled[T any](at time.Time) (v T) {
	n := 0
	fill(reflect.ValueOf(&v).Elem(), &n, at)
	return v
}

func fill(v reflect.Value, n *int, at time.Time) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("größe %d \"x\"", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint64:
		v.SetUint(uint64(1<<62 + *n))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), n, at)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(at.Add(time.Duration(*n) * time.Second)))
			return
		}
		for _, field := range v.Fields() {
			fill(field, n, at)
		}
	default:
		panic(fmt.Sprintf("fill does not know how to fill a %s", v.Type()))
	}
}
