/**
 * What a call that fails costs while it fails: how often it is tried, and how often status is written.
 *
 * Ten minutes are two or three of the longest pauses: pauses that double from a second to five minutes make about a dozen
 * tries of them.
 */
import { describe, expect, it } from 'vitest';
import { aWorld, conditionOf, internalOf, statusOf } from '../kinds/support/world.ts';
import type { Disturbance, Interference } from '../support/disturbed-wire.ts';
import type { InProcess } from '../support/in-process.ts';

const mail = { email: { addresses: ['a@example.com'] } };
const app = { externalId: 'app_web', name: 'web', port: 8080 };
const image = (tag: number) => ({ image: { reference: `registry.example.com/web:${tag}` } });
const down: Disturbance = { insteadOf: { status: 503, text: '{"error":"down"}' } };
const broken: Disturbance = { insteadOf: { status: 500, text: '{}' } };
const slower: Disturbance = { insteadOf: { status: 429, text: '{"error":"slow down"}' } };
const mostTries = 14;
/** What is answered 429 is sent once more after that pause, before its object waits. */
const mostSlowedTries = 2 * mostTries;

type Arrange = (world: InProcess) => Promise<(world: InProcess) => void | Promise<void>>;

/** An app that runs as specified, and an edit of what the service never shows. */
const editedApp: Arrange = (world) => {
  world.apply('HostedApp', 'web', { ...app, ...image(1) });
  return Promise.resolve(() => void world.apply('HostedApp', 'web', { ...app, ...image(2) }));
};

const renamedPoint: Arrange = (world) => {
  world.apply('ContactPoint', 'cp', mail);
  return Promise.resolve(() => void world.apply('ContactPoint', 'cp', { ...mail, name: 'other' }));
};

const rotatedSecret: Arrange = (world) => {
  world.secret('hook', { url: 'https://hook.example.com/one' });
  world.apply('ContactPoint', 'cp', {
    webhook: { url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } } },
  });
  return Promise.resolve(() => world.secret('hook', { url: 'https://hook.example.com/two' }));
};

const newPoint: Arrange = () => Promise.resolve((world) => void world.apply('ContactPoint', 'cp', mail));

const deletedPoint: Arrange = (world) => {
  world.apply('ContactPoint', 'cp', mail);
  return Promise.resolve(() => world.delete('ContactPoint', 'cp'));
};

const stopped: Arrange = (world) => {
  world.apply('AppEnvironment', 'prod', { externalId: 'env_web_prod', powerState: 'Running' });
  return Promise.resolve(
    () => void world.apply('AppEnvironment', 'prod', { externalId: 'env_web_prod', powerState: 'Stopped' }),
  );
};

const deployed: Arrange = () =>
  Promise.resolve(
    (world) =>
      void world.apply('AppEnvironment', 'prod', {
        externalId: 'env_web_prod',
        deploy: { image: 'registry.example.com/web:2', onBind: 'Deploy' },
      }),
  );

const restricted: Arrange = () =>
  Promise.resolve(
    (world) =>
      void world.apply('MemberAccess', 'dev', {
        externalId: 'mem_demo',
        access: 'Restricted',
        environmentRefs: [{ externalId: 'env_web_prod' }],
      }),
  );

const protection = {
  environmentRef: { externalId: 'env_web_prod' },
  destinationRegion: 'us-east',
  protectionMode: 'Cold',
};

const isProtected: Arrange = () =>
  Promise.resolve((world) => void world.apply('DisasterProtection', 'prot', protection));

const drifted: Arrange = async (world) => {
  world.apply('ContactPoint', 'cp', mail);
  world.apply('MetricAlert', 'cpu', {
    environmentRef: { externalId: 'env_web_prod' },
    metric: 'cpu_percent',
    operator: 'GreaterThan',
    refreshSeconds: 0,
    contactPointRefs: [{ name: 'cp' }],
  });
  await world.run(60_000);
  const { externalId: alertId } = statusOf(world, 'MetricAlert', 'cpu');
  return async () => void (await world.request('PATCH', '/alert', { alertId, threshold: 3 }));
};

interface Row {
  readonly what: string;
  readonly arrange: Arrange;
  readonly object: readonly [kind: string, plural: string, name: string];
  readonly fails: (method: string, path: string) => Disturbance | undefined;
  readonly isTry: (method: string, path: string) => boolean;
  readonly most?: number;
}

const patches = (method: string) => method === 'PATCH';
const hostedApp = ['HostedApp', 'hostedapps', 'web'] as const;
const contactPoint = ['ContactPoint', 'contactpoints', 'cp'] as const;
const environment = ['AppEnvironment', 'appenvironments', 'prod'] as const;

const rows: readonly Row[] = [
  {
    what: 'a change of an app while the service refuses every connection',
    arrange: editedApp,
    object: hostedApp,
    fails: () => 'refuseConnection',
    isTry: patches,
  },
  ...[down, broken].map((answer): Row => ({
    what: `a change of an app that is answered ${(answer as { insteadOf: { status: number } }).insteadOf.status}`,
    arrange: editedApp,
    object: hostedApp,
    fails: (method) => (method === 'PATCH' ? answer : undefined),
    isTry: patches,
  })),
  {
    what: 'a change of an app while everything is answered 429',
    arrange: editedApp,
    object: hostedApp,
    fails: () => slower,
    isTry: patches,
  },
  {
    what: 'a new name that is answered 500',
    arrange: renamedPoint,
    object: contactPoint,
    fails: (method) => (method === 'PATCH' ? broken : undefined),
    isTry: patches,
  },
  {
    what: 'a rotated Secret behind a gateway that answers 504',
    arrange: rotatedSecret,
    object: contactPoint,
    fails: (method) => (method === 'PATCH' ? { afterwards: { status: 504, text: 'gateway timeout' } } : undefined),
    isTry: patches,
  },
  {
    what: 'a creation whose connection is refused',
    arrange: newPoint,
    object: contactPoint,
    fails: (method) => (method === 'POST' ? 'refuseConnection' : undefined),
    isTry: (method) => method === 'POST',
  },
  {
    what: 'a creation that is answered 429 without a time',
    arrange: newPoint,
    object: contactPoint,
    fails: (method) => (method === 'POST' ? slower : undefined),
    isTry: (method) => method === 'POST',
    most: mostSlowedTries,
  },
  {
    what: 'a removal that is answered 503',
    arrange: deletedPoint,
    object: contactPoint,
    fails: (method) => (method === 'DELETE' ? down : undefined),
    isTry: (method) => method === 'DELETE',
  },
  {
    what: 'a stop that is answered 503',
    arrange: stopped,
    object: environment,
    fails: (_, path) => (path.endsWith('/stop') ? down : undefined),
    isTry: (_, path) => path.endsWith('/stop'),
  },
  {
    what: 'a deployment whose connection is refused',
    arrange: deployed,
    object: environment,
    fails: (method) => (method === 'POST' ? 'refuseConnection' : undefined),
    isTry: (method) => method === 'POST',
  },
  {
    what: 'a restriction of a member that is answered 503',
    arrange: restricted,
    object: ['MemberAccess', 'memberaccesses', 'dev'],
    fails: (method) => (method === 'PATCH' ? down : undefined),
    isTry: patches,
  },
  {
    what: 'a protection whose connection is refused',
    arrange: isProtected,
    object: ['DisasterProtection', 'disasterprotections', 'prot'],
    fails: (method) => (method === 'POST' ? 'refuseConnection' : undefined),
    isTry: (method) => method === 'POST',
  },
  {
    what: 'a correction whose connection is reset',
    arrange: drifted,
    object: ['MetricAlert', 'metricalerts', 'cpu'],
    fails: (method) => (method === 'PATCH' ? 'loseBefore' : undefined),
    isTry: patches,
  },
];

/** How often the service was asked for what a row counts. */
function counting({ fails, isTry }: Pick<Row, 'fails' | 'isTry'>) {
  const counted = { tries: 0 };
  const interference: Interference = ({ method, path }) => {
    if (isTry(method, path)) counted.tries += 1;
    return fails(method, path);
  };
  return { counted, interference };
}

function statusWrites(world: InProcess, plural: string, from: number): number {
  return world.kube.calls.slice(from).filter((call) => call.plural === plural && call.verb === 'replaceStatus').length;
}

describe('what fails', () => {
  it.each(rows)('is tried about a dozen times in ten minutes: $what', async (row) => {
    const world = await aWorld();
    const happen = await row.arrange(world);
    await world.run(130_000);
    const { counted, interference } = counting(row);
    const from = world.kube.calls.length;
    await happen(world);
    world.interference = interference;

    await world.run(600_000);

    const [kind, plural, name] = row.object;
    expect(conditionOf(world, kind, name)).toMatch(/^False/);
    expect(counted.tries).toBeGreaterThan(4);
    expect(counted.tries).toBeLessThanOrEqual(row.most ?? mostTries);
    expect(statusWrites(world, plural, from)).toBeLessThanOrEqual(2 * mostTries);
  });
});

/** Contact points that were renamed, and whose new names the service does not take for ten minutes. */
async function inVain(count: number, answer: Disturbance = down) {
  const world = await aWorld();
  for (let at = 0; at < count; at += 1) world.apply('ContactPoint', `cp-${at}`, mail);
  await world.run(200_000);
  const { counted, interference } = counting({
    fails: (method) => (method === 'PATCH' || answer === 'refuseConnection' ? answer : undefined),
    isTry: patches,
  });
  world.interference = interference;
  for (let at = 0; at < count; at += 1) world.apply('ContactPoint', `cp-${at}`, { ...mail, name: `other-${at}` });
  await world.run(600_000);
  return { world, counted };
}

describe('the pause after a call that failed', () => {
  it('is ended by an edit, by an annotation of ours and by a forced look, and by nothing else that is written', async () => {
    const { world, counted } = await inVain(1);
    const triedBy = async (spec: object, annotations: Readonly<Record<string, string>> = {}) => {
      await world.run(300_000);
      const before = counted.tries;
      world.apply('ContactPoint', 'cp-0', spec, annotations);
      await world.run(1_000);
      return counted.tries - before;
    };
    const renamed = { ...mail, name: 'other-0' };

    expect(await triedBy({ ...mail, name: 'another' })).toBe(1);
    expect(await triedBy(renamed)).toBe(1);
    const ours = { 'apphosting.dev/redeploy-at': '1' };
    expect(await triedBy(renamed, { 'seen-at': 'a' })).toBe(0);
    expect(await triedBy(renamed, ours)).toBe(1);
    expect(await triedBy(renamed, { ...ours, 'apphosting.dev/reconcile-at': '1' })).toBe(1);
    await world.run(300_000);
    world.tamper('ContactPoint', 'cp-0', (status) => ({ ...status, leftover: ['nothing'] }));
    const before = counted.tries;
    await world.run(5_000);
    expect(counted.tries).toBe(before);
  });

  it('is ended by another value of a Secret', async () => {
    const world = await aWorld();
    const happen = await rotatedSecret(world);
    await world.run(130_000);
    const { counted, interference } = counting({
      fails: (method) => (method === 'PATCH' ? down : undefined),
      isTry: patches,
    });
    world.interference = interference;
    await happen(world);
    await world.run(600_000);
    const before = counted.tries;

    world.secret('hook', { url: 'https://hook.example.com/three' });
    await world.run(400);

    expect(counted.tries).toBe(before + 1);
  });

  it('is over soon after a service that could not be reached can be', async () => {
    const { world } = await inVain(3, 'refuseConnection');

    world.interference = () => undefined;
    await world.run(65_000);

    const ready = [0, 1, 2].map((at) => conditionOf(world, 'ContactPoint', `cp-${at}`));
    expect(ready).toEqual(['True/InSync', 'True/InSync', 'True/InSync']);
  });

  it('leaves no trace of a call that was not sent: a protection is set up once when the service is back', async () => {
    const world = await aWorld();
    world.interference = () => 'refuseConnection';
    world.apply('DisasterProtection', 'prot', protection);
    await world.run(1_000);
    world.interference = ({ method }) => (method === 'POST' ? 'refuseConnection' : undefined);
    await world.run(600_000);
    expect(conditionOf(world, 'DisasterProtection', 'prot')).toBe('False/ServiceUnavailable');

    world.interference = () => undefined;
    await world.run(305_000);

    expect(world.sent.map(({ path }) => path).filter((path) => path.endsWith('/configure'))).toHaveLength(1);
    expect(statusOf(world, 'DisasterProtection', 'prot')).toHaveProperty('externalId');
  });

  it('takes nothing from others: fifty that fail leave a new one its place', async () => {
    const { world, counted } = await inVain(50);
    const before = counted.tries;

    await world.run(300_000);
    world.apply('ContactPoint', 'fresh', mail);
    await world.run(1_000);

    expect(counted.tries - before).toBeLessThan(50 * 5);
    expect(conditionOf(world, 'ContactPoint', 'fresh')).toBe('True/InSync');
  });

  it('leaves nothing in doubt that never left the machine: an edit that is taken back sends nothing', async () => {
    const world = await aWorld();
    const happen = await editedApp(world);
    await world.run(130_000);
    const known = internalOf(world, 'HostedApp', 'web')['applied'] as { fingerprints: object };
    world.interference = () => 'refuseConnection';
    await happen(world);
    await world.run(300_000);
    const from = world.sent.length;

    world.apply('HostedApp', 'web', { ...app, ...image(1) });
    world.interference = () => undefined;
    await world.run(130_000);

    expect(world.sent.slice(from)).toEqual([]);
    expect(internalOf(world, 'HostedApp', 'web')['applied']).toMatchObject({ fingerprints: known.fingerprints });
    expect(conditionOf(world, 'HostedApp', 'web')).toBe('True/InSync');
  });
});
