package postgres

// What the tests need besides the API, which they use from outside: testenv
// imports this package.
var (
	MigrateFrom     = migrate
	EmbeddedVersion = embeddedVersion
	OpenToMigrate   = openToMigrate
)

const LockID int64 = lockID
