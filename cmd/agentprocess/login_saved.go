package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/oauth2"
)

// savedLogin is a sign-in at one server.
type savedLogin struct {
	Token    *oauth2.Token `json:"token"`
	TokenURL string        `json:"tokenUrl"`
	Client   string        `json:"client"`
}

// loginFile is where sign-ins are kept, by the server's address.
func loginFile() (string, error) {
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "agentprocess", "logins.json"), err
}

func readLogins() (string, map[string]savedLogin, error) {
	path, err := loginFile()
	if err != nil {
		return "", nil, err
	}
	all := map[string]savedLogin{}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, all, nil
	}
	if err != nil {
		return path, nil, err
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return path, nil, fmt.Errorf("%s: %w", path, err)
	}
	return path, all, nil
}

// writeLogins replaces the file, whole or not at all.
func writeLogins(path string, all map[string]savedLogin) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := writeJSON(temp, all); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

func keepLogin(base string, l savedLogin) (path string, err error) {
	path, all, err := readLogins()
	if err != nil {
		return path, err
	}
	all[base] = l
	return path, writeLogins(path, all)
}

func forgetLogin(base string) error {
	path, all, err := readLogins()
	if err != nil {
		return err
	}
	if _, ok := all[base]; !ok {
		return fmt.Errorf("not signed in at %s", base)
	}
	delete(all, base)
	return writeLogins(path, all)
}

// refreshWithin bounds a renewal.
const refreshWithin = 30 * time.Second

// savedToken is the access token of a sign-in, renewed if it has ended; empty
// where nobody signed in.
func savedToken(base string) (string, error) {
	if _, err := loginFile(); err != nil {
		return "", nil //nolint:nilerr // nobody signs in where there is no home
	}
	_, all, err := readLogins()
	if err != nil {
		return "", err
	}
	saved, ok := all[base]
	if !ok || saved.Token == nil {
		return "", nil
	}
	if saved.Token.Valid() {
		return saved.Token.AccessToken, nil
	}
	if !isPrivate(saved.TokenURL) {
		return "", fmt.Errorf("sign in again: agentprocess login --server %s", base)
	}
	ctx, cancel := context.WithTimeout(context.Background(), refreshWithin)
	defer cancel()
	config := oauth2.Config{ClientID: saved.Client, Endpoint: oauth2.Endpoint{TokenURL: saved.TokenURL, AuthStyle: oauth2.AuthStyleInParams}}
	fresh, err := config.TokenSource(ctx, saved.Token).Token()
	if err != nil {
		return "", fmt.Errorf("the sign-in has ended; sign in again: agentprocess login --server %s", base)
	}
	saved.Token = fresh
	if _, err := keepLogin(base, saved); err != nil {
		return "", err
	}
	return fresh.AccessToken, nil
}
