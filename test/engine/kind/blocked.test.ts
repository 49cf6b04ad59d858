/** A no that its kind answers with a wait of its own: how long the same call is kept back, and what ends that. */
import { describe, expect, it } from 'vitest';
import { aWorld, conditionOf, eventsOf, messageOf, statusOf } from '../../kinds/support/world.ts';
import type { InProcess } from '../../support/in-process.ts';

const mail = { email: { addresses: ['a@example.com'] } };
const alert = (name: string) => ({
  environmentRef: { externalId: 'env_web_prod' },
  metric: 'cpu_percent',
  operator: 'GreaterThan',
  contactPointRefs: [{ name }],
});

/** A contact point `ops` that is deleted while an alert uses it, beside another one. */
async function aBlockedDeletion() {
  const world = await aWorld();
  world.account({ pollSeconds: 10 });
  for (const name of ['ops', 'other']) world.apply('ContactPoint', name, mail);
  world.apply('MetricAlert', 'cpu', alert('ops'));
  await world.run(60_000);
  const { externalId: contactPointId } = statusOf(world, 'ContactPoint', 'ops');
  world.delete('ContactPoint', 'ops');
  await world.run(1_000);
  expect(conditionOf(world, 'ContactPoint', 'ops')).toBe('False/DeletionBlocked');
  return { world, contactPointId };
}

function removals(world: InProcess): number {
  return world.sent.filter(({ method, path }) => method === 'DELETE' && path.endsWith('/contact-point')).length;
}

describe('a deletion that the service refuses', () => {
  it('names what is in the way and nothing else, and is told as a warning', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'ops', mail);
    world.apply('MetricAlert', 'cpu', alert('ops'));
    // It has no alert in the service, since its environment does not show.
    world.apply('MetricAlert', 'waits', { ...alert('ops'), environmentRef: { externalId: 'env_none' } });
    await world.run(60_000);
    world.delete('ContactPoint', 'ops');
    await world.run(1_000);

    expect(messageOf(world, 'ContactPoint', 'ops')).toContain('one alert uses the contact point (MetricAlert cpu)');
    expect(eventsOf(world)).toContainEqual(expect.stringMatching(/^Warning DeletionBlocked /u));
  });

  it('is asked for again when its time has come, and not because something else changed', async () => {
    const { world, contactPointId } = await aBlockedDeletion();

    for (const name of ['a', 'b']) {
      await world.request('PATCH', '/contact-point', { contactPointId, name });
      world.apply('ContactPoint', 'ops', mail, { 'seen-at': name });
      await world.run(12_000);
    }

    expect(removals(world)).toBe(1);
    await world.run(10_000);
    expect(removals(world)).toBe(2);
  });

  it('is carried out at once when what was in the way is gone', async () => {
    const { world } = await aBlockedDeletion();
    await world.run(400_000);

    world.delete('MetricAlert', 'cpu');
    await world.run(5_000);

    expect(world.get('ContactPoint', 'ops')).toBeUndefined();
  });

  it('is carried out soon when what was in the way uses another one', async () => {
    const { world } = await aBlockedDeletion();
    await world.run(400_000);

    world.apply('MetricAlert', 'cpu', alert('other'));
    await world.run(10_000);

    expect(world.get('ContactPoint', 'ops')).toBeUndefined();
  });

  it.each([
    { what: 'an edit', spec: { ...mail, name: 'edited' }, annotations: {} },
    { what: 'a forced look', spec: mail, annotations: { 'apphosting.dev/reconcile-at': '1' } },
  ])('is asked for again at once after $what', async ({ spec, annotations }) => {
    const { world } = await aBlockedDeletion();

    world.apply('ContactPoint', 'ops', spec, annotations);
    await world.run(1_000);

    expect(removals(world)).toBe(2);
  });
});

describe('an installation that is not complete', () => {
  it('goes on in growing steps, however often the apps of the account change', async () => {
    const world = await aWorld();
    world.account({ pollSeconds: 10 });
    const text = '{"error":"no room","installationId":"inst_1"}';
    world.interference = ({ method, path }) =>
      method === 'POST' && path.endsWith('/solutions') ? { insteadOf: { status: 500, text } } : undefined;
    world.apply('SolutionInstallation', 's', { solution: 'queue-worker', appName: 'jobs', region: 'eu-west' });

    for (let at = 0; at < 30; at += 1) {
      await world.run(2_000);
      await world.request('POST', '/app', { accountId: 'acc_demo', name: `jobs-${at}`, port: 1, useImage: true });
      world.apply(
        'SolutionInstallation',
        's',
        { solution: 'queue-worker', appName: 'jobs', region: 'eu-west' },
        { 'seen-at': `${at}` },
      );
    }

    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('False/PartiallyInstalled');
    const times = world.sent.filter(({ path }) => path.endsWith('/solutions')).map(({ wallMs }) => wallMs);
    const pauses = times.slice(1).map((time, at) => Math.round((time - (times[at] ?? 0)) / 1_000));
    expect(pauses).toEqual([5, 10, 20]);
  });

  it('goes on at once with what an edit gives it', async () => {
    const world = await aWorld();
    const text = '{"error":"no room","installationId":"inst_1"}';
    let left = 4;
    world.interference = ({ method, path }) =>
      method === 'POST' && path.endsWith('/solutions') && (left -= 1) >= 0
        ? { insteadOf: { status: 500, text } }
        : undefined;
    const given = { solution: 'queue-worker', appName: 'jobs', region: 'eu-west' };
    world.apply('SolutionInstallation', 's', given);
    await world.run(40_000);
    const sent = () => world.sent.filter(({ path }) => path.endsWith('/solutions')).length;
    expect(sent()).toBe(4);

    world.apply('SolutionInstallation', 's', { ...given, inputs: [{ name: 'apiKey', value: 'k' }] });
    await world.run(1_000);

    expect(sent()).toBe(5);
  });
});
