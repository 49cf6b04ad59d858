// Command rules runs tests of alerting rules, written as promtool has them, with Prometheus's own rule manager: an alert must
// fire exactly where the test says so.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"sigs.k8s.io/yaml"
)

type file struct {
	RuleFiles []string `json:"rule_files"`
	Tests     []test   `json:"tests"`
}

type test struct {
	Name     string         `json:"name"`
	Interval model.Duration `json:"interval"`
	Series   []struct {
		Series string `json:"series"`
		Values string `json:"values"`
	} `json:"input_series"`
	Alerts []struct {
		EvalTime model.Duration `json:"eval_time"`
		Alert    string         `json:"alertname"`
		Expected []interface{}  `json:"exp_alerts"`
	} `json:"alert_rule_test"`
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	check(err)
	var all file
	check(yaml.UnmarshalStrict(text, &all))
	failures, tested := 0, map[string]bool{}
	var names []string
	for _, one := range all.Tests {
		names = one.run(filepath.Join(filepath.Dir(os.Args[1]), all.RuleFiles[0]), tested, func(wrong string) {
			failures++
			fmt.Printf("FAILED %s: %s\n", one.Name, wrong)
		})
	}
	for _, name := range names {
		if !tested[name] {
			failures++
			fmt.Printf("FAILED %s: no test sees it fire\n", name)
		}
	}
	fmt.Printf("%d tests of %d alerts, %d failures\n", len(all.Tests), len(names), failures)
	if failures > 0 {
		os.Exit(1)
	}
}

func (t test) run(path string, tested map[string]bool, fail func(string)) (names []string) {
	step := time.Duration(t.Interval)
	load := []string{"load " + t.Interval.String()}
	for _, series := range t.Series {
		load = append(load, "  "+series.Series+" "+series.Values)
	}
	suite, err := promqltest.NewLazyLoader(strings.Join(load, "\n"), promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	check(err)
	defer suite.Close()
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:  rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage()),
		Appendable: suite.Storage(),
		Context:    context.Background(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Logger:     promslog.NewNopLogger(),
	})
	groups, errs := manager.LoadGroups(step, labels.EmptyLabels(), "", nil, false, path)
	for _, err := range errs {
		check(err)
	}
	alerts := map[string]*rules.AlertingRule{}
	for _, group := range groups {
		for _, rule := range group.Rules() {
			if alert, ok := rule.(*rules.AlertingRule); ok {
				alert.SetRestored(true)
				alerts[alert.Name()] = alert
				names = append(names, alert.Name())
			}
		}
	}
	for _, wanted := range t.Alerts {
		if alerts[wanted.Alert] == nil {
			fail("there is no alert " + wanted.Alert)
			return names
		}
	}
	start := time.Unix(0, 0).UTC()
	for at := time.Duration(0); at <= 3*time.Hour; at += step {
		suite.WithSamplesTill(start.Add(at), func(err error) {
			check(err)
			for _, group := range groups {
				group.Eval(suite.Context(), start.Add(at))
			}
		})
		for _, wanted := range t.Alerts {
			if time.Duration(wanted.EvalTime) != at {
				continue
			}
			firing := 0
			for _, active := range alerts[wanted.Alert].ActiveAlerts() {
				if active.State == rules.StateFiring {
					firing++
				}
			}
			if firing != len(wanted.Expected) {
				fail(fmt.Sprintf("%s at %s: %d fire, not %d", wanted.Alert, wanted.EvalTime, firing, len(wanted.Expected)))
			}
			if firing > 0 {
				tested[wanted.Alert] = true
			}
		}
	}
	return names
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
