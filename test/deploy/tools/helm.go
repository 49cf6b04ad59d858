package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	linter "helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
)

// template renders a chart: CHART NAMESPACE RELEASE, with its values as JSON on the input.
func template(args []string) {
	values := map[string]any{}
	check(json.NewDecoder(os.Stdin).Decode(&values))
	chart, err := loader.Load(args[0])
	check(err)
	check(chartutil.ProcessDependencies(chart, values))
	release := common.ReleaseOptions{Name: args[2], Namespace: args[1], Revision: 1, IsInstall: true}
	toRender, err := util.ToRenderValues(chart, values, release, common.DefaultCapabilities.Copy())
	check(err)
	files, err := engine.Render(chart, toRender)
	check(err)
	for name, text := range files {
		if strings.HasSuffix(name, ".yaml") && strings.TrimSpace(text) != "" {
			fmt.Printf("---\n# Source: %s\n%s\n", name, text)
		}
	}
}

// lint says what Helm's linter has against a chart; anything but information is wrong.
func lint(args []string) {
	found := linter.RunAll(args[0], map[string]any{}, "default")
	for _, message := range found.Messages {
		if message.Severity > support.InfoSev {
			fmt.Println(message.Error())
		}
	}
	if found.HighestSeverity > support.InfoSev {
		os.Exit(1)
	}
}
