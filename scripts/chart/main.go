// Renders a Helm chart with the templates of Go and the functions of sprig, which is what Helm
// does, for a machine that has a Go compiler and no Helm:
//
//	go run scripts/chart/main.go CHART RELEASE NAMESPACE [VALUES.yaml …]
//
// Later values win over earlier ones, map by map, as Helm merges them.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

type tree = map[string]interface{}

func main() {
	if len(os.Args) < 4 {
		fail(fmt.Errorf("usage: main.go CHART RELEASE NAMESPACE [VALUES.yaml …]"))
	}
	chart, release, namespace := os.Args[1], os.Args[2], os.Args[3]
	values := read(filepath.Join(chart, "values.yaml"))
	for _, path := range os.Args[4:] {
		values = merged(values, read(path))
	}
	about := read(filepath.Join(chart, "Chart.yaml"))
	given := tree{
		"Values":  values,
		"Release": tree{"Name": release, "Namespace": namespace, "Service": "Helm"},
		"Chart":   tree{"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
	}
	set := templates(chart)
	for _, name := range names(set) {
		var out bytes.Buffer
		fail(set.ExecuteTemplate(&out, name, given))
		if text := strings.TrimSpace(out.String()); text != "" {
			fmt.Printf("---\n# Source: %s\n%s\n", name, strings.TrimPrefix(text, "---\n"))
		}
	}
}

// templates reads every file of the chart; "missing values are errors" finds slips of the pen.
func templates(chart string) *template.Template {
	set := template.New("chart").Option("missingkey=error").Funcs(sprig.TxtFuncMap())
	set.Funcs(template.FuncMap{
		"toYaml": func(value interface{}) string {
			var out bytes.Buffer
			encoder := yaml.NewEncoder(&out)
			encoder.SetIndent(2)
			fail(encoder.Encode(value))
			return strings.TrimSuffix(out.String(), "\n")
		},
		"include": func(name string, given interface{}) (string, error) {
			var out bytes.Buffer
			err := set.ExecuteTemplate(&out, name, given)
			return out.String(), err
		},
	})
	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	fail(err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		fail(err)
		_, err = set.New(filepath.Base(path)).Parse(string(text))
		fail(err)
	}
	return set
}

// names lists what is rendered: parts that others include, and words for people, are not.
func names(set *template.Template) []string {
	var found []string
	for _, one := range set.Templates() {
		if strings.HasSuffix(one.Name(), ".yaml") {
			found = append(found, one.Name())
		}
	}
	sort.Strings(found)
	return found
}

func read(path string) tree {
	text, err := os.ReadFile(path)
	fail(err)
	found := tree{}
	fail(yaml.Unmarshal(text, &found))
	return found
}

func merged(under, over tree) tree {
	for name, value := range over {
		inner, isTree := value.(tree)
		below, wasTree := under[name].(tree)
		if isTree && wasTree {
			under[name] = merged(below, inner)
		} else {
			under[name] = value
		}
	}
	return under
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
