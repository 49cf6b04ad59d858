package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/yannh/kubeconform/pkg/validator"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/yaml"
)

// conform runs kubeconform: SCHEMAS FOLDER..., where SCHEMAS is a template of file names. Kubernetes's own kinds have no schema
// there and are passed over.
func conform(args []string) {
	skipped := map[string]struct{}{"Secret": {}, "ConfigMap": {}}
	machine, err := validator.New(args[:1], validator.Opts{Strict: true, SkipKinds: skipped})
	check(err)
	valid, wrong := 0, 0
	for _, folder := range args[1:] {
		check(filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
				return err
			}
			file, err := os.Open(path)
			if err != nil {
				return err
			}
			for _, result := range machine.Validate(path, file) {
				switch result.Status {
				case validator.Valid:
					valid++
				case validator.Error, validator.Invalid:
					wrong++
					fmt.Printf("%s: %v\n", path, result.Err)
				}
			}
			return nil
		}))
	}
	fmt.Printf("%d valid, %d wrong\n", valid, wrong)
	if wrong > 0 || valid == 0 {
		os.Exit(1)
	}
}

// compatible runs crdify with its own defaults on pairs of files: OLD NEW [OLD NEW...].
func compatible(args []string) {
	checks, err := runner.New(&config.Config{}, runner.DefaultRegistry())
	check(err)
	wrong := false
	for at := 0; at+1 < len(args); at += 2 {
		results := checks.Run(definition(args[at]), definition(args[at+1]))
		if !results.HasFailures() {
			continue
		}
		wrong = true
		report, err := results.Render(runner.FormatPlainText)
		check(err)
		fmt.Printf("%s\n%s\n", filepath.Base(args[at+1]), report)
	}
	if wrong {
		os.Exit(1)
	}
}

func definition(path string) *apiextensionsv1.CustomResourceDefinition {
	text, err := os.ReadFile(path)
	check(err)
	found := &apiextensionsv1.CustomResourceDefinition{}
	check(yaml.Unmarshal(text, found))
	return found
}
