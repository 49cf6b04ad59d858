package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	texts "github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/util/annotations"
	"sigs.k8s.io/yaml"
)

type alertTests struct {
	RuleFiles []string    `json:"rule_files"`
	Tests     []alertTest `json:"tests"`
}

type alertTest struct {
	Name     string         `json:"name"`
	Interval model.Duration `json:"interval"`
	Series   []struct {
		Series string `json:"series"`
		Values string `json:"values"`
	} `json:"input_series"`
	Alerts []struct {
		EvalTime model.Duration `json:"eval_time"`
		Alert    string         `json:"alertname"`
		Expected []any          `json:"exp_alerts"`
	} `json:"alert_rule_test"`
}

// alerts runs tests of alerting rules, written as promtool has them, with Prometheus's own parser, engine and templates: an
// alert must fire exactly where the test says so, its texts must expand, and some test must see each alert fire and one be silent.
func alerts(args []string) {
	text, err := os.ReadFile(args[0])
	check(err)
	var all alertTests
	check(yaml.UnmarshalStrict(text, &all))
	rules := rulesIn(filepath.Join(filepath.Dir(args[0]), all.RuleFiles[0]))
	fired, silent := map[string]bool{}, map[string]bool{}
	var wrong []string
	for _, one := range all.Tests {
		for _, finding := range one.run(rules, fired, silent) {
			wrong = append(wrong, one.Name+": "+finding)
		}
	}
	for _, rule := range rules {
		if !fired[rule.Alert] {
			wrong = append(wrong, rule.Alert+": no test sees it fire")
		}
		if !silent[rule.Alert] {
			wrong = append(wrong, rule.Alert+": no test sees it silent")
		}
	}
	fmt.Printf("%d tests of %d alerts, %d failures\n", len(all.Tests), len(rules), len(wrong))
	if len(wrong) > 0 {
		fail(strings.Join(wrong, "\n"))
	}
}

func rulesIn(path string) (rules []rulefmt.Rule) {
	groups, errs := rulefmt.ParseFile(path, false, model.UTF8Validation)
	for _, err := range errs {
		check(err)
	}
	for _, group := range groups.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules
}

// run evaluates every rule at every interval and counts for how long each of its results is there.
func (t alertTest) run(rules []rulefmt.Rule, fired, silent map[string]bool) (wrong []string) {
	series := t.load()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute})
	since := map[string]map[string]time.Time{}
	for at := time.Duration(0); at <= t.end(); at += time.Duration(t.Interval) {
		now := time.Unix(0, 0).UTC().Add(at)
		for _, rule := range rules {
			query := func(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
				asked, err := engine.NewInstantQuery(ctx, series, nil, expr, at)
				if err != nil {
					return nil, err
				}
				defer asked.Close()
				return asked.Exec(ctx).Vector()
			}
			found, err := query(context.Background(), rule.Expr, now)
			check(err)
			active := map[string]time.Time{}
			firing := 0
			for _, sample := range found {
				key := sample.Metric.String()
				active[key] = now
				if from, ok := since[rule.Alert][key]; ok {
					active[key] = from
				}
				if now.Sub(active[key]) >= time.Duration(rule.For) {
					firing++
					wrong = append(wrong, badTexts(rule, sample, now, query)...)
				}
			}
			since[rule.Alert] = active
			for _, wanted := range t.Alerts {
				if wanted.Alert != rule.Alert || time.Duration(wanted.EvalTime) != at {
					continue
				}
				if firing != len(wanted.Expected) {
					wrong = append(wrong, fmt.Sprintf("%s at %s: %d fire, not %d", rule.Alert, wanted.EvalTime, firing, len(wanted.Expected)))
				}
				fired[rule.Alert] = fired[rule.Alert] || firing > 0
				silent[rule.Alert] = silent[rule.Alert] || firing == 0
			}
		}
	}
	return wrong
}

func (t alertTest) end() (end time.Duration) {
	for _, wanted := range t.Alerts {
		end = max(end, time.Duration(wanted.EvalTime))
	}
	return end
}

// badTexts expands the labels and annotations of a firing alert, as Prometheus does; what it cannot expand is wrong.
func badTexts(rule rulefmt.Rule, sample promql.Sample, now time.Time, query texts.QueryFunc) (wrong []string) {
	data := texts.AlertTemplateData(sample.Metric.Map(), nil, "", sample)
	const short = "{{$labels := .Labels}}{{$value := .Value}}"
	for _, fields := range []map[string]string{rule.Labels, rule.Annotations} {
		for name, text := range fields {
			expander := texts.NewTemplateExpander(context.Background(), short+text, rule.Alert, data, model.TimeFromUnix(now.Unix()), query, nil, nil)
			expanded, err := expander.Expand()
			if err != nil || strings.Contains(expanded, "<no value>") {
				wrong = append(wrong, fmt.Sprintf("%s: %s says %q: %v", rule.Alert, name, expanded, err))
			}
		}
	}
	return wrong
}

// load makes the series of a test; each sample is one interval after the one before.
func (t alertTest) load() storage.Queryable {
	var all []storage.Series
	for _, one := range t.Series {
		metric, values, err := parser.ParseSeriesDesc(one.Series + " " + one.Values)
		check(err)
		var points []promql.FPoint
		for at, value := range values {
			if !value.Omitted {
				points = append(points, promql.FPoint{T: int64(at) * time.Duration(t.Interval).Milliseconds(), F: value.Value})
			}
		}
		all = append(all, promql.NewStorageSeries(promql.Series{Metric: metric, Floats: points}))
	}
	return storage.QueryableFunc(func(int64, int64) (storage.Querier, error) {
		return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			return &matching{series: all, matchers: matchers, at: -1}
		}}, nil
	})
}

// matching walks the series that all matchers match.
type matching struct {
	series   []storage.Series
	matchers []*labels.Matcher
	at       int
}

func (m *matching) Next() bool {
	for m.at++; m.at < len(m.series); m.at++ {
		if m.matches(m.series[m.at].Labels()) {
			return true
		}
	}
	return false
}

func (m *matching) matches(metric labels.Labels) bool {
	for _, matcher := range m.matchers {
		if !matcher.Matches(metric.Get(matcher.Name)) {
			return false
		}
	}
	return true
}

func (m *matching) At() storage.Series                { return m.series[m.at] }
func (m *matching) Err() error                        { return nil }
func (m *matching) Warnings() annotations.Annotations { return nil }
