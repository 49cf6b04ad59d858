import { MetricAlertSpec as schema } from '../../../../src/kinds/metric-alert/schema.ts';
import type { InProcess } from '../../../support/in-process.ts';
import { statusOf } from '../world.ts';
import { accountEdits, lifecycleEdits, quiet, refused, sent, type Edit, type Edits, type Spec } from './table.ts';

const alert = {
  environmentRef: { externalId: 'env_web_prod' },
  metric: 'cpu_percent',
  operator: 'GreaterThan',
  threshold: 80,
  contactPointRefs: [{ name: 'cp-a' }],
};
const fixed = refused('environmentRef cannot be changed');

const patch = (body: object) => sent('PATCH /alert', { alertId: '{id}', ...body });
const toggle = (enabled: boolean) => sent('POST /alert/toggle', { alertId: '{id}', enabled });

/** A field of the alert; without it, the default of the interface. */
function row(
  field: string,
  [before, after]: readonly [unknown, unknown],
  fallback?: unknown,
  sentAs: unknown = after,
): Edit {
  return {
    field,
    before: { ...alert, [field]: before },
    changed: { to: { ...alert, [field]: after }, comes: patch({ [field]: sentAs }) },
    ...(fallback !== undefined && { removed: { comes: patch({ [field]: fallback }) } }),
  };
}

const told = (...contactPointRefs: readonly Spec[]): Spec => ({ ...alert, contactPointRefs });

const placeRows: readonly Edit[] = [
  {
    field: 'environmentRef.externalId',
    before: alert,
    changed: { to: { ...alert, environmentRef: { externalId: 'env_web_staging' } }, comes: fixed },
    removed: { comes: refused('set exactly one of name, externalId') },
  },
  {
    field: 'environmentRef.name',
    before: { ...alert, environmentRef: { name: 'a' } },
    changed: { to: { ...alert, environmentRef: { name: 'b' } }, comes: fixed },
    removed: { comes: refused('set exactly one of name, externalId') },
  },
];

const receiverRows: readonly Edit[] = [
  {
    field: 'contactPointRefs[].name',
    before: alert,
    changed: { to: told({ name: 'cp-b' }), comes: patch({ contactPointIds: ['{cp-b}'] }) },
    removed: { to: told({}), comes: refused('set exactly one of name, externalId') },
  },
  {
    field: 'contactPointRefs[].externalId',
    before: told({ externalId: '{cp-a}' }),
    changed: { to: told({ externalId: '{cp-b}' }), comes: patch({ contactPointIds: ['{cp-b}'] }) },
    removed: { to: told({ name: 'cp-a' }), comes: quiet() },
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
    const contactPoint = (each: string) => String(statusOf(world, 'ContactPoint', each)['externalId']);
    return {
      'cp-a': contactPoint('cp-a'),
      'cp-b': contactPoint('cp-b'),
      ...(await byHand(world, name, contactPoint('cp-a'))),
    };
  },
  rows: [
    ...accountEdits(alert),
    ...lifecycleEdits(alert, {
      managementPolicy: ['Manage', 'Observe'],
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
      changed: { to: { ...alert, description: 'two' }, comes: patch({ description: 'two\n\n{mark}' }) },
      removed: { comes: patch({ description: '{mark}' }) },
    },
    row('metric', ['cpu_percent', 'memory_percent']),
    row('operator', ['GreaterThan', 'LessThan'], undefined, 'lt'),
    row('threshold', [70, 90.5], 80),
    row('duration', ['1m', '15m'], '5m'),
    row('aggregation', ['Max', 'Min'], 'mean', 'min'),
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
  const { environmentRef, metric, threshold } = alert;
  const body = {
    appEnvId: environmentRef.externalId,
    name: `hand-${name}`,
    metric,
    operator: 'gt',
    threshold,
    duration: '5m',
    contactPointIds: [contactPointId],
  };
  const make = async () => (await world.request('POST', '/app-env/alert', body)).body as { alert: { alertId: string } };
  return { one: (await make()).alert.alertId, two: (await make()).alert.alertId };
}
