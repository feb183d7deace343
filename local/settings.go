package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// settings is all that can be set from outside, checked.
type settings struct {
	addr        string // host and port to listen on; port 0 picks a free one
	data        string // the directory of everything that is kept
	endpoint    string // of a DynamoDB-compatible server; "" for SQLite
	table       string // of that server
	old         string // the directory, or the table of that server, from before a restore; "" for none
	token       string // "" for one that is made and kept
	refillEvery time.Duration
	demo        bool // an empty store is filled with a day of sample data first
	log         slog.Level
	insecure    bool // whoever can ask sees and changes everything by the dashboard
	readOnly    bool // the dashboard changes nothing
	gallery     bool // /gallery/ shows each page in each state, of made-up data

	now func() time.Time // the clock; nil is the machine's. There is no flag for it: an ID's hold and a session's end go by it
}

// clock is the clock that the program goes by.
func (s settings) clock() func() time.Time {
	if s.now != nil {
		return s.now
	}
	return time.Now
}

// option is one setting: a flag and its twin in the environment. take checks the value; its error completes "NAME must".
type option struct {
	flag, env, usual, usage string
	take                    func(*settings, string) error
	bare                    bool // the flag alone is true
}

func options() []option {
	return []option{
		{"addr", "IDPOOL_ADDR", "127.0.0.1:8080", "`host:port` to listen on; port 0 picks a free one", takeAddr, false},
		{"data", "IDPOOL_DATA", ".idpool", "`directory` of the database and the token", takeData, false},
		{"dynamodb-endpoint", "IDPOOL_DYNAMODB_ENDPOINT", "", "`URL` of a DynamoDB-compatible server to use instead of SQLite", takeEndpoint, false},
		{"table", "IDPOOL_TABLE", "idpool", "`name` of the table on that server; made if it is missing", takeTable, false},
		{"old", "IDPOOL_OLD", "", "`directory` (or with -dynamodb-endpoint the table) of before a restore, from which jobs carry forward what was taken", takeOld, false},
		{"token", "IDPOOL_TOKEN", "", "`credential` with all scopes; without it one is made, kept in the data directory and printed", takeToken, false},
		{"refill-every", "IDPOOL_REFILL_EVERY", "5s", "`time` between two runs of the schedule; 0 switches it off, as during a restore", takeRefillEvery, false},
		{"demo", "IDPOOL_DEMO", "", "`yes` to fill an empty database with a day of sample data first, to look around in", takeDemo, false},
		{"log", "IDPOOL_LOG", "warn", "least `level` that is logged: debug, info (each request), warn or error", takeLog, false},
		{"read-only", "IDPOOL_DASHBOARD_READ_ONLY", "false", "the dashboard shows everything and changes nothing", takeBool(func(s *settings) *bool { return &s.readOnly }), true},
		{"gallery", "IDPOOL_GALLERY", "false", "/gallery/ shows each page of the dashboard in each state, of made-up data, for whoever works on pages", takeBool(func(s *settings) *bool { return &s.gallery }), true},
		{"insecure-dashboard", "IDPOOL_INSECURE_DASHBOARD", "false", "the dashboard asks nobody to sign in; -addr must be of loopback", takeBool(func(s *settings) *bool { return &s.insecure }), true},
	}
}

// readSettings reads flags, then the environment for what no flag says. All faults are reported together. What -h asks
// for is written to usage, and flag.ErrHelp returned.
func readSettings(args []string, lookup func(string) (string, bool), usage io.Writer) (settings, error) {
	options := options()
	set := flag.NewFlagSet("local", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	given := map[string]string{}
	for _, o := range options {
		usage, give := fmt.Sprintf("%s (or %s; default %q)", o.usage, o.env, o.usual), func(v string) error {
			given[o.flag] = v
			return nil
		}
		if o.bare {
			set.BoolFunc(o.flag, usage, give)
		} else {
			set.Func(o.flag, usage, give)
		}
	}
	if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(usage, "The whole of idpool in one process. Flags, each with its twin in the environment:")
		set.SetOutput(usage)
		set.PrintDefaults()
		return settings{}, err
	} else if err != nil {
		return settings{}, fmt.Errorf("%w; -h lists the flags", err)
	}

	var s settings
	var faults []error
	if set.NArg() > 0 {
		faults = append(faults, fmt.Errorf("%q is no flag; -h lists the flags", set.Arg(0)))
	}
	for _, o := range options {
		name, value, ok := "-"+o.flag, "", false
		if value, ok = given[o.flag]; !ok {
			if value, ok = lookup(o.env); ok && value != "" {
				name = o.env
			} else {
				value = o.usual
			}
		}
		if err := o.take(&s, value); err != nil {
			faults = append(faults, fmt.Errorf("%s must %w", name, err))
		}
	}
	if err := s.checkOld(); err != nil {
		faults = append(faults, err)
	}
	if s.insecure && !isLoopback(s.addr) {
		faults = append(faults, fmt.Errorf("-insecure-dashboard opens everything to whoever can ask, so -addr must be of loopback, as 127.0.0.1:8080, not %s", s.addr))
	}
	return s, errors.Join(faults...)
}

// takeBool takes true or false.
func takeBool(field func(*settings) *bool) func(*settings, string) error {
	return func(s *settings, v string) (err error) {
		if *field(s), err = strconv.ParseBool(v); err != nil {
			return fmt.Errorf("be true or false, not %q", v)
		}
		return nil
	}
}

func takeAddr(s *settings, v string) error {
	host, port, err := net.SplitHostPort(v)
	n, numErr := strconv.ParseUint(port, 10, 16)
	if err != nil || numErr != nil || strings.ContainsAny(host, " /") {
		return fmt.Errorf("be host:port with a port of 0 to 65535, as in 127.0.0.1:8080, not %q", v)
	}
	s.addr = net.JoinHostPort(host, strconv.FormatUint(n, 10))
	return nil
}

func takeDemo(s *settings, v string) error {
	if v != "" && v != "yes" {
		return fmt.Errorf("be yes, or left out, not %q", v)
	}
	s.demo = v == "yes"
	return nil
}

func takeData(s *settings, v string) error {
	if v == "" {
		return errors.New("name a directory")
	}
	s.data = v
	return nil
}

func takeEndpoint(s *settings, v string) error {
	if v == "" {
		return nil
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return fmt.Errorf("be a URL as in http://127.0.0.1:8000, not %q", v)
	}
	s.endpoint = v
	return nil
}

var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

func takeTable(s *settings, v string) error {
	if !tableName.MatchString(v) {
		return fmt.Errorf("be a name of 3 to 255 letters, digits, '_', '.' and '-', not %q", v)
	}
	s.table = v
	return nil
}

func takeOld(s *settings, v string) error {
	s.old = v
	return nil
}

// checkOld refuses an old store that is the one in use, or cannot be one.
func (s settings) checkOld() error {
	switch {
	case s.old == "":
		return nil
	case s.endpoint != "" && (!tableName.MatchString(s.old) || s.old == s.table):
		return fmt.Errorf("the old table (-old or IDPOOL_OLD) must be another one than %s, with a name of 3 to 255 letters, digits, '_', '.' and '-', not %q", s.table, s.old)
	case s.endpoint == "" && filepath.Clean(s.old) == filepath.Clean(s.data):
		return fmt.Errorf("the old directory (-old or IDPOOL_OLD) must be another one than %s", s.data)
	}
	return nil
}

// tokenForm is what goes into an Authorization header unharmed and is not guessed at once.
var tokenForm = regexp.MustCompile(`^[A-Za-z0-9._~+/=-]{16,256}$`)

func takeToken(s *settings, v string) error {
	if v != "" && !tokenForm.MatchString(v) {
		return errors.New("be 16 to 256 letters, digits or any of . _ ~ + / = - (the value is not shown here)")
	}
	s.token = v
	return nil
}

func takeRefillEvery(s *settings, v string) error {
	d, err := time.ParseDuration(v)
	if err != nil || d != 0 && (d < 100*time.Millisecond || d > time.Hour) {
		return fmt.Errorf("be a time of 100ms to 1h, as in 5s, or 0 to switch the schedule off, not %q", v)
	}
	s.refillEvery = d
	return nil
}

func takeLog(s *settings, v string) error {
	if err := s.log.UnmarshalText([]byte(v)); err != nil {
		return fmt.Errorf("be debug, info, warn or error, not %q", v)
	}
	return nil
}
