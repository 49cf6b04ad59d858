import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { kinds } from '../../src/kinds/index.ts';
import { metricNames } from '../../src/telemetry/metrics.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const Rules = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          labels: z.object({ severity: z.enum(['critical', 'warning']) }),
          annotations: z.object({ summary: z.string(), description: z.string(), runbook_url: z.url() }),
        }),
      ),
    }),
  ),
});
const rules = Rules.parse(parse(read('deploy/prometheus/rules.yaml'))).groups.flatMap((group) => group.rules);

const AlertTests = z.object({
  tests: z.array(
    z.object({
      alert_rule_test: z.array(z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) })),
    }),
  ),
});
/** Run with Prometheus's own engine by `npm run check:deploy`. */
const alertTests = AlertTests.parse(parse(read('test/deploy/rules.test.yaml'))).tests.flatMap(
  ({ alert_rule_test }) => alert_rule_test,
);

const Dashboard = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })),
});
const { panels } = Dashboard.parse(JSON.parse(read('deploy/grafana/apphosting.json')));

/** What an expression asks for that the operator does not tell, labels included. */
function unknownIn(expression: string): readonly string[] {
  const asked = [...expression.matchAll(/(apphosting_\w+)(?:\{([^}]*)\})?/gu)];
  return asked.flatMap(([, metric = '', selectors = '']) => {
    const name = metric.replace(/_(?:bucket|count|sum)$/u, '');
    const described = Object.entries(metricNames).find(([known]) => known === metric || known === name)?.[1];
    if (described === undefined) return [metric];
    const known: readonly string[] = described.labels;
    const labels = [...selectors.matchAll(/(\w+)\s*[=!]/gu)].map(([, label = '']) => label);
    return labels.filter((label) => !known.includes(label)).map((label) => `${metric}{${label}}`);
  });
}

describe('alerts', () => {
  it.each(rules.map((rule) => [rule.alert, rule] as const))('%s asks only for what there is', (_name, { expr }) => {
    expect(expr).toContain('apphosting_');
    expect(unknownIn(expr)).toEqual([]);
  });

  it.each(rules.map((rule) => [rule.alert, rule.annotations.runbook_url] as const))('%s has its page', (_name, url) => {
    expect(existsSync(join(root, `${url.replace('https://apphosting.dev/', '')}.md`))).toBe(true);
  });

  it.each(rules.map((rule) => [rule.alert]))(
    '%s has a test in which it fires, and one in which it does not',
    (name) => {
      const expected = alertTests
        .filter(({ alertname }) => alertname === name)
        .map(({ exp_alerts }) => exp_alerts.length);

      expect(expected).toContain(0);
      expect(Math.max(...expected)).toBeGreaterThan(0);
    },
  );

  it.each(rules.map((rule) => [rule.alert, rule] as const))(
    '%s tells operators of a cluster apart',
    (_name, { expr }) => {
      expect(expr).toMatch(/ by \(namespace[,)]/u);
    },
  );

  it('about what is stalled leaves out exactly the kinds that run once, for which nothing ends it', () => {
    const { expr = '' } = rules.find(({ alert }) => alert === 'ApphostingStalled') ?? {};
    const [, excluded = ''] = /kind!~"([^"]+)"/u.exec(expr) ?? [];

    expect(excluded.split('|')).toEqual(kinds.filter(({ life }) => life === 'request').map(({ kind }) => kind));
  });

  it('would be noticed if they asked for something else', () => {
    expect(unknownIn('rate(apphosting_nothing_total[5m]) + apphosting_objects{color="red"}')).toEqual([
      'apphosting_nothing_total',
      'apphosting_objects{color}',
    ]);
  });
});

describe('the dashboard', () => {
  it.each(panels.map((panel) => [panel.title, panel] as const))(
    'shows %s from what there is',
    (_title, { targets }) => {
      expect(targets.flatMap(({ expr }) => unknownIn(expr))).toEqual([]);
    },
  );

  it('shows every metric', () => {
    const shown = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join(' ');

    expect(Object.keys(metricNames).filter((name) => !shown.includes(name))).toEqual([]);
  });
});
