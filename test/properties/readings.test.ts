import { describe, expect, it } from 'vitest';
import { everydayLives, type Life } from './lives.ts';
import { recoveryLives } from './recovery-lives.ts';
import { arranged, wholeLife } from './walk.ts';

/** Every switch of the simulator that touches everyday calls, with each value besides its first. */
const switches: readonly { readonly name: string; readonly value: unknown }[] = [
  ...['names.apps', 'names.contactPoints', 'names.alerts'].map((name) => ({ name, value: 'unique' })),
  ...['409', '422', '403'].map((value) => ({ name: 'rejection.status', value: Number(value) })),
  ...['message', 'nested', 'text', 'empty'].map((value) => ({ name: 'errors.body', value })),
  { name: 'get.wrapping', value: 'wrapped' },
  ...['messageOnly', 'empty'].map((value) => ({ name: 'patch.response', value })),
  ...['upper', 'lower'].map((value) => ({ name: 'status.words', value })),
  ...[2_000, 30_000, 60_000].map((value) => ({ name: 'lists.lagMs', value })),
  { name: 'lists.order', value: 'shuffled' },
  { name: 'dates.form', value: 'seconds' },
  { name: 'fields.extra', value: 'on' },
  { name: 'fields.nulls', value: 'on' },
  { name: 'alerts.refreshPaused', value: 'rejects' },
  { name: 'alerts.cache', value: 'live' },
  ...['everywhere', 'never'].map((value) => ({ name: 'contactPoints.deploys', value })),
  { name: 'createApp.provisions', value: 'databases' },
  { name: 'rate.limit', value: 3 },
];

/** The same for the calls of disaster readiness; what ends differently where little is disclosed has tests of its own. */
const recoverySwitches: typeof switches = [
  { name: 'dr.phases', value: 'opaque' },
  { name: 'dr.readinessWord', value: 'Ready' },
  ...['results', 'configurations'].map((value) => ({ name: 'configure.results', value })),
  ...['idOnly', 'opaque'].map((value) => ({ name: 'activate.receipt', value })),
  { name: 'reset.repeat', value: 'notFound' },
  { name: 'rejection.status', value: 409 },
  { name: 'errors.body', value: 'nested' },
  { name: 'lists.lagMs', value: 30_000 },
  { name: 'fields.nulls', value: 'on' },
];
const withoutIds = ['withoutIds', 'asNamed'].map((value) => ({ name: 'dr.operations', value }));
const minimal = { name: 'dr.disclosed', value: 'minimal' };

const rows: readonly (readonly [kind: string, life: Life, all: typeof switches])[] = [
  ...everydayLives.map((life) => [life.kind, life, switches] as const),
  ...recoveryLives.map((life) => {
    const named = life.kind === 'RecoveryValidation' ? [] : withoutIds;
    const little = life.kind === 'DisasterProtection' ? [minimal] : [];
    return [life.kind, life, [...recoverySwitches, ...named, ...little]] as const;
  }),
];

describe.each(rows)('%s', (_kind, life, all) => {
  it.each(all)('reads $name = $value', async ({ name, value }) => {
    const world = await arranged(life, { readings: { [name]: value } });

    const wrong = await wholeLife(world, life);

    expect(wrong).toEqual([]);
  });
});
