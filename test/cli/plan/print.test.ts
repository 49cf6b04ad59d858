import { expect, it } from 'vitest';
import type { Plan, PlanRow } from '../../../src/cli/plan/model.ts';
import { planAsMarkdown } from '../../../src/cli/plan/print-markdown.ts';
import { fieldInWords } from '../../../src/cli/plan/print-text.ts';

function row(more: Partial<PlanRow>): PlanRow {
  return { action: 'deploy', kind: 'AppEnvironment', namespace: 'team', name: 'web', fields: [], ...more };
}

function planWith(...rows: PlanRow[]): Plan {
  const none = { drift: [], findings: [], notes: [], counts: {}, accounts: [], reads: { asked: 0, answered: 0 } };
  const calls = { total: 0, requestsPerSecond: 5, seconds: 0 };
  return { format: 'apphosting-plan', version: 1, name: 'test', complete: true, rows, calls, ...none };
}

it('a comment warns at its top of everything that is restarted, whatever the call is and whatever it is named', () => {
  const made = planWith(
    row({ note: 'deploys, restarts web/my environment', restarts: 'web/my environment' }),
    row({ note: 'stops web/staging', restarts: 'web/staging' }),
    row({
      action: 'change',
      kind: 'HostedApp',
      note: 'deploys at once, and restarts running environments of web',
      restarts: 'running environments of web',
    }),
    row({ action: 'request', kind: 'RecoveryValidation', note: 'the operator restarts nothing' }),
  );

  const warnings = planAsMarkdown(made, 10_000)
    .split('\n')
    .filter((line) => line.startsWith('> '));

  expect(warnings).toEqual([
    '> **Deploys, restarts** web/my environment.  ',
    '> **Stops** web/staging.  ',
    '> **Deploys at once, and restarts** running environments of web.  ',
  ]);
});

it('a changed field says whether a value is empty, or is removed', () => {
  expect(fieldInWords({ name: 'healthCheckPath', before: '/healthz', after: '' })).toBe(
    'healthCheckPath /healthz -> ""',
  );
  expect(fieldInWords({ name: 'target.appName', before: 'web' })).toBe('target.appName web -> (none)');
});
