package identity

// Right is what not every caller has.
type Right string

// The rights, each of a field of [Caller]. Who operates may publish, too.
const (
	Operate Right = "operate"
	Publish Right = "publish"
)
