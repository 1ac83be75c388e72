package devlogin

import (
	_ "embed"
	"html/template"
	"net/http"
	"net/url"

	"github.com/agentprocess-temporal/server/identity"
)

//go:embed login.html
var loginHTML string

var loginPage = template.Must(template.New("login").Parse(loginHTML))

// page is what the page to sign in at shows.
type page struct {
	ID, Client, Organization string
	// To is where the browser goes then, Person whether it is as a person.
	To     string
	Human  bool
	People []identity.Entry
	Action string
}

func (p *Provider) showLogin(w http.ResponseWriter, r *http.Request) {
	p.storage.mu.Lock()
	req, err := p.storage.open(r.URL.Query().Get("id"))
	p.storage.mu.Unlock()
	if err != nil {
		http.Error(w, "This sign-in is over. Start again in your application.", http.StatusNotFound)
		return
	}
	name := req.client.Name
	if name == "" {
		name = "An application without a name"
	}
	to := req.RedirectURI
	if u, err := url.Parse(to); err == nil {
		to = u.Scheme + "://" + u.Host
	}
	directory := p.o.Directory()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_ = loginPage.Execute(w, page{ // the browser may have left
		ID: req.id, Client: name, Organization: directory.Org(), To: to, Human: req.ClientID == CommandLine,
		People: directory.People(), Action: "/login",
	})
}

// login signs somebody in who chose who to be. Only this page can ask for it: no
// other one that the browser shows.
func (p *Provider) login(w http.ResponseWriter, r *http.Request) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		http.Error(w, "Only the page of this server signs in.", http.StatusForbidden)
		return
	}
	entry, ok := p.o.Directory().Person(r.PostFormValue("email"))
	if !ok {
		http.Error(w, "The directory has nobody of that address.", http.StatusBadRequest)
		return
	}
	id := r.PostFormValue("id")
	if err := p.storage.signIn(id, entry.Email); err != nil {
		http.Error(w, "This sign-in is over. Start again in your application.", http.StatusNotFound)
		return
	}
	http.Redirect(w, r, "/authorize/callback?id="+url.QueryEscape(id), http.StatusSeeOther)
}
