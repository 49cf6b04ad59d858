import { Spec as schema } from '../../../../src/kinds/metric-alert/schema.ts';
import type { InProcess } from '../../../support/in-process.ts';
import { statusOf } from '../world.ts';
import { accountEdits, lifecycleEdits, quiet, refused, sent, type Edit, type Edits, type Spec } from './table.ts';

const alert = {
  appEnvId: 'env_web_prod',
  metric: 'cpu_percent',
  operator: 'gt',
  threshold: 80,
  contactPoints: [{ contactPointRef: { name: 'cp-a' } }],
};
const fixed = refused('an alert belongs to its environment');

const patch = (body: object) => sent('PATCH /alert', { alertId: '{id}', ...body });
const toggle = (enabled: boolean) => sent('POST /alert/toggle', { alertId: '{id}', enabled });

/** A field of the alert; without it, the default of the interface. */
function row(field: string, [before, after]: readonly [unknown, unknown], fallback?: unknown): Edit {
  return {
    field,
    before: { ...alert, [field]: before },
    changed: { to: { ...alert, [field]: after }, comes: patch({ [field]: after }) },
    ...(fallback !== undefined && { removed: { comes: patch({ [field]: fallback }) } }),
  };
}

const told = (...contactPoints: readonly Spec[]): Spec => ({ ...alert, contactPoints });

const placeRows: readonly Edit[] = [
  {
    field: 'appEnvId',
    before: alert,
    changed: { to: { ...alert, appEnvId: 'env_web_staging' }, comes: fixed },
    removed: { comes: refused('set exactly one of environmentRef, appEnvId') },
  },
  {
    field: 'environmentRef',
    before: { ...alert, appEnvId: undefined, environmentRef: { name: 'a' } },
    changed: { to: { ...alert, appEnvId: undefined, environmentRef: { name: 'b' } }, comes: fixed },
    removed: { comes: refused('set exactly one of environmentRef, appEnvId') },
  },
];

const receiverRows: readonly Edit[] = [
  {
    field: 'contactPoints[].contactPointRef',
    before: alert,
    changed: { to: told({ contactPointRef: { name: 'cp-b' } }), comes: patch({ contactPointIds: ['{cp-b}'] }) },
    removed: { to: told({}), comes: refused('set exactly one of contactPointRef, contactPointId') },
  },
  {
    field: 'contactPoints[].contactPointId',
    before: told({ contactPointId: '{cp-a}' }),
    changed: { to: told({ contactPointId: '{cp-b}' }), comes: patch({ contactPointIds: ['{cp-b}'] }) },
    removed: { to: told({ contactPointRef: { name: 'cp-a' } }), comes: quiet() },
  },
];

/** Every field of a MetricAlert. */
export const metricAlertEdits: Edits = {
  kind: 'MetricAlert',
  schema,
  prepare: async (world: InProcess, name) => {
    if (world.get('ContactPoint', 'cp-a') === undefined) {
      for (const each of ['cp-a', 'cp-b']) {
        world.apply('ContactPoint', each, { email: { addresses: [`${each}@example.com`] } });
      }
      await world.run(5_000);
    }
    const contactPoint = (each: string) => String(statusOf(world, 'ContactPoint', each)['contactPointId']);
    return {
      'cp-a': contactPoint('cp-a'),
      'cp-b': contactPoint('cp-b'),
      ...(await byHand(world, name, contactPoint('cp-a'))),
    };
  },
  rows: [
    ...accountEdits(alert),
    ...lifecycleEdits(alert, {
      mode: ['Manage', 'Observe'],
      adoption: ['ById', 'Never'],
      drift: ['Correct', 'Report'],
      onDelete: ['Delete', 'Retain'],
      onMissing: ['Recreate', 'Stall'],
    }),
    ...placeRows,
    ...receiverRows,
    row('name', ['one {row}', 'two {row}'], '{row}'),
    {
      field: 'description',
      before: { ...alert, description: 'one' },
      changed: { to: { ...alert, description: 'two' }, comes: patch({ description: 'two\n\n{marker}' }) },
      removed: { comes: patch({ description: '{marker}' }) },
    },
    row('metric', ['cpu_percent', 'memory_percent']),
    row('operator', ['gt', 'lt']),
    row('threshold', [70, 90.5], 80),
    row('duration', ['1m', '15m'], '5m'),
    row('aggregation', ['max', 'min'], 'mean'),
    row('queryRange', ['5m', '15m'], '10m'),
    {
      field: 'enabled',
      before: { ...alert, enabled: true },
      changed: { to: { ...alert, enabled: false }, comes: toggle(false) },
      removed: { comes: quiet() },
    },
    { field: 'enabled', before: { ...alert, enabled: false }, removed: { comes: toggle(true) } },
    {
      field: 'refreshSeconds',
      before: { ...alert, refreshSeconds: 120 },
      changed: { to: { ...alert, refreshSeconds: 0 }, comes: quiet() },
      removed: { comes: quiet() },
    },
    {
      field: 'externalId',
      before: { ...alert, name: 'hand-{row}', externalId: '{one}' },
      changed: { to: { ...alert, name: 'hand-{row}', externalId: '{two}' }, comes: quiet() },
      removed: { comes: quiet() },
    },
  ],
};

/** Two alerts as somebody else made them. */
async function byHand(world: InProcess, name: string, contactPointId: string): Promise<Record<'one' | 'two', string>> {
  const { appEnvId, metric, operator, threshold } = alert;
  const body = {
    appEnvId,
    name: `hand-${name}`,
    metric,
    operator,
    threshold,
    duration: '5m',
    contactPointIds: [contactPointId],
  };
  const make = async () => (await world.request('POST', '/app-env/alert', body)).body as { alert: { alertId: string } };
  return { one: (await make()).alert.alertId, two: (await make()).alert.alertId };
}
