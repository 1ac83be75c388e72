// Package httpapi is what the server offers over plain HTTP, beside MCP:
//
//   - the catalog and the operators' calls under /api/, by [New];
//   - the download of evidence under /files/, by [Files];
//   - the JSON Schemas under /schemas/core-2/, by [Schemas].
//
// It is a thin adapter: what a call means, and who may make it, is behind
// [Operations]. The API answers every request in one envelope,
// `{"ok":true,"data":…}` or `{"ok":false,"error":{"code","message","issues"}}`,
// with the codes of spec §4.3; the HTTP status follows from the code (status.go)
// and adds nothing to it.
//
//	GET    /api/processes                  the catalog: newest versions, and drafts
//	POST   /api/processes                  import; the body is the PROCESS.md
//	PUT    /api/processes/{name}/roles     bind; the body is {"role": "group", …}
//	POST   /api/processes/{name}/publish   make the draft a version
//	GET    /api/processes/{name}/checks    how its checks compare with people; ?since=30d
//	DELETE /api/runs/{runId}               delete a run that is over
//	GET    /api/audit                      the audit log, for operators
//
// The API must be mounted behind identity/bearer, whose context it reads. File
// links carry their own permission and schemas need none.
//
// It may import operations, files, schemas, identity, run and
// internal/postgres. Start at api.go.
package httpapi
