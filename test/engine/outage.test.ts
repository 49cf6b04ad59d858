import { describe, expect, it } from 'vitest';
import { Outage } from '../../src/kube/outage.ts';
import { KubeError } from '../../src/engine/ports.ts';
import { CollectedLog } from '../support/collected-log.ts';
import type { InProcess } from '../support/in-process.ts';
import { VirtualClock } from '../../src/cli/in-memory/virtual-clock.ts';
import { aWorld, conditionOf, statusOf } from '../kinds/support/world.ts';

const spec = { email: { addresses: ['a@example.com'] }, lifecycle: { drift: 'Report' } };
const count = 30;

/** What was logged since for people to read. */
function logged(world: InProcess, from: number): readonly string[] {
  return world.trace.lines.slice(from).filter((line) => !line.startsWith('debug'));
}

/** Resources whose status wants to be written whenever the service is looked at. */
async function drifting(): Promise<InProcess> {
  const world = await aWorld();
  world.account({ pollSeconds: 10 });
  for (let n = 0; n < count; n += 1) world.apply('ContactPoint', `cp-${n}`, spec);
  await world.run(120_000);
  return world;
}

async function renameAll(world: InProcess, suffix: string): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const { externalId: contactPointId } = statusOf(world, 'ContactPoint', `cp-${n}`);
    await world.request('PATCH', '/contact-point', { contactPointId, name: `${n}-${suffix}` });
  }
}

describe('while Kubernetes does not answer', () => {
  it('the log has one line when that begins and one when it has ended', async () => {
    const world = await drifting();
    const from = world.trace.lines.length;
    world.kube.cut = true;
    await renameAll(world, 'once');
    await world.run(1_800_000);
    expect(logged(world, from)).toEqual([expect.stringMatching(/^warn Kubernetes does not answer: /)]);

    world.kube.cut = false;
    await world.run(60_000);

    const ours = logged(world, from).filter((line) => line.includes('Kubernetes'));
    expect(ours.slice(1)).toEqual([expect.stringMatching(/^info Kubernetes answers again .*"seconds":18[0-4]\d/)]);
    for (let n = 0; n < count; n += 1)
      expect(conditionOf(world, 'ContactPoint', `cp-${n}`, 'Drifted')).toBe('True/Drifted');
  });

  it('a reconcile that asks it nothing is no answer', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'ops', spec);
    await world.run(60_000);
    const from = world.trace.lines.length;
    const ours = () => logged(world, from).filter((line) => line.includes('Kubernetes'));
    const replace = world.kube.replaceStatus.bind(world.kube);
    world.kube.replaceStatus = () => Promise.reject(new KubeError('unavailable', 'no answer'));
    world.apply('ContactPoint', 'ops', { ...spec, name: 'ops of today' });
    await world.run(5_000);
    world.kube.replaceStatus = replace;
    world.leadership.why = 'lost';
    await world.run(60_000);
    expect(ours()).toEqual([expect.stringMatching(/^warn Kubernetes does not answer: /)]);

    world.leadership.why = undefined;
    await world.run(60_000);

    expect(ours().slice(1)).toEqual([expect.stringMatching(/^info Kubernetes answers again /)]);
    expect(conditionOf(world, 'ContactPoint', 'ops')).toBe('True/InSync');
  });

  it('is told apart from refusing, each with an end of its own', () => {
    const log = new CollectedLog();
    const outage = new Outage(new VirtualClock(), log, () => undefined);

    expect(outage.failed('a', new KubeError('unavailable', 'no answer'))).toBe(true);
    expect(outage.failed('b', new KubeError('unauthorized', 'no'))).toBe(true);
    expect(outage.failed('c', new KubeError('throttled', 'later'))).toBe(true);
    expect(outage.failed('c', new KubeError('invalid', 'too long'))).toBe(false);
    expect(outage.failed('c', new KubeError('forbidden', 'not this one'))).toBe(false);
    for (const who of ['a', 'b', 'c', 'd']) outage.went(who);

    expect(log.lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
      'warn Kubernetes does not answer: no answer',
      'warn Kubernetes does not accept the credential: no',
      'info Kubernetes accepts the credential again',
      'info Kubernetes answers again',
    ]);
  });
});

describe('what Kubernetes forbids', () => {
  it('is logged of each resource once, with what was forbidden', async () => {
    const world = await aWorld();
    const names = ['one', 'two'];
    for (const name of names) world.secret(name, { url: `https://hook.example.com/${name}` });
    const from = world.trace.lines.length;
    const get = world.kube.get.bind(world.kube);
    world.kube.get = (resource, namespace, name) =>
      names.includes(name)
        ? Promise.reject(new KubeError('forbidden', `getting secret ${name}: no`))
        : get(resource, namespace, name);
    for (const name of names)
      world.apply('ContactPoint', name, { webhook: { url: { valueFrom: { secretKeyRef: { name, key: 'url' } } } } });
    await world.run(3_600_000);

    const errors = logged(world, from).filter((line) => line.startsWith('error a reconcile failed'));
    expect(errors.map((line) => /getting secret \w+/.exec(line)?.[0] ?? line).toSorted()).toEqual([
      'getting secret one',
      'getting secret two',
    ]);
    for (const name of names) expect(conditionOf(world, 'ContactPoint', name)).toBe('False/InternalError');
  });
});

describe('while the service does not answer', () => {
  it('the log says once of each resource that has work what it waits for, and of the account', async () => {
    const world = await drifting();
    const from = world.trace.lines.length;
    world.interference = () => 'refuseConnection';
    for (let n = 0; n < count; n += 1) world.apply('ContactPoint', `cp-${n}`, { ...spec, name: `wanted-${n}` });

    await world.run(3_600_000);

    expect(logged(world, from).length).toBeLessThanOrEqual(count + 2);
    expect(logged(world, from).filter((line) => line.startsWith('error'))).toEqual([]);
  });
});

describe('a reconcile that keeps failing by a mistake of ours', () => {
  it('is logged once, and again when it fails in another way', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'ops', spec);
    await world.run(60_000);
    const from = world.trace.lines.length;
    const fails = (message: string) => {
      world.kube.get = () => Promise.reject(new Error(message));
      world.secret('hook', { url: 'https://hook.example.com/one' });
      world.apply('ContactPoint', 'ops', {
        webhook: { url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } } },
        name: message,
      });
    };

    fails('boom');
    await world.run(3_600_000);
    fails('bang');
    await world.run(3_600_000);

    const errors = logged(world, from).filter((line) => line.startsWith('error a reconcile failed'));
    // The contact point, and the account that reads the same Secret store.
    expect(errors.map((line) => /boom|bang/.exec(line)?.[0])).toEqual(['boom', 'boom', 'bang', 'bang']);
  });
});
