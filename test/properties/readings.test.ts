import { describe, expect, it } from 'vitest';
import { lives } from './lives.ts';
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

describe.each(lives)('$kind', (life) => {
  it.each(switches)('reads $name = $value', async ({ name, value }) => {
    const world = await arranged(life, { readings: { [name]: value } });

    const wrong = await wholeLife(world, life);

    expect(wrong).toEqual([]);
  });
});
