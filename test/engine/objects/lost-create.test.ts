import { describe, expect, it } from 'vitest';
import { measure } from '../../../src/cli/operator/measure.ts';
import { MetricRegistry } from '../../../src/telemetry/metrics.ts';
import { atFirst, type Disturbance } from '../../support/disturbed-wire.ts';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, committed, conditionOf, messageOf, statusOf } from '../../kinds/support/world.ts';

const paused = { 'apphosting.dev/paused': 'true' };
const hook = { name: 'ops', webhook: { url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } } } };

/** A world in which the answer to the creation of contact point "ops" by `first` was lost. */
async function inDoubt(what: Disturbance): Promise<InProcess> {
  const world = await aWorld();
  world.interference = atFirst('POST /contact-point', what);
  world.secret('hook', { url: 'https://hook.example.com/one' });
  world.apply('ContactPoint', 'first', hook);
  await world.run(1_000);
  return world;
}

const created = (world: InProcess) => committed(world, 'contactPoint.created');

const hold: Readonly<Record<string, (world: InProcess) => void>> = {
  'is paused': (world: InProcess) => void world.apply('ContactPoint', 'first', hook, paused),
  'is only observed by now': (world: InProcess) =>
    void world.apply('ContactPoint', 'first', { ...hook, lifecycle: { managementPolicy: 'Observe' } }),
  'lacks its Secret by now': (world: InProcess) =>
    void world.apply('ContactPoint', 'first', {
      name: 'ops',
      webhook: { url: { valueFrom: { secretKeyRef: { name: 'other', key: 'url' } } } },
    }),
  'is paused and being deleted': (world: InProcess) => {
    world.apply('ContactPoint', 'first', hook, { ...paused, 'apphosting.dev/on-delete': 'Retain' });
    world.delete('ContactPoint', 'first');
  },
};

describe.each(Object.entries(hold))('a create in doubt whose resource %s', (_how, holdUp) => {
  it('leaves its name to others once it is known that the lost call made nothing', async () => {
    const world = await inDoubt('loseBefore');
    holdUp(world);
    world.secret('hook', { url: 'https://hook.example.com/two' });
    world.apply('ContactPoint', 'second', hook);
    await world.run(60_000);
    expect(conditionOf(world, 'ContactPoint', 'second')).toBe('False/CreateInProgress');

    await world.run(600_000);

    expect(conditionOf(world, 'ContactPoint', 'second')).toBe('True/InSync');
    expect(statusOf(world, 'ContactPoint', 'first')).not.toHaveProperty('internal.journal');
    expect(await created(world)).toBe(1);
  });

  it('learns the id of what the lost call made, and sends nothing', async () => {
    const world = await inDoubt('loseAnswer');
    holdUp(world);
    const sent = world.sent.length;

    await world.run(600_000);

    expect(statusOf(world, 'ContactPoint', 'first')).toMatchObject({ internal: { ownership: 'Presumed' } });
    expect(conditionOf(world, 'ContactPoint', 'first')).not.toContain('InDoubt');
    expect(world.sent).toHaveLength(sent);
    expect(await created(world)).toBe(1);
  });
});

describe.each(Object.entries(hold))(
  'a create in doubt whose resource %s, while its list is refused',
  (_how, holdUp) => {
    it.each([403, 404, 429, 500])('ends soon after the service shows the list again (%i)', async (status) => {
      const world = await inDoubt('loseBefore');
      holdUp(world);
      world.interference = ({ method, path }) =>
        method === 'GET' && path.includes('/contact-points')
          ? { insteadOf: { status, text: '{"error":"no"}' } }
          : undefined;
      await world.crash();
      await world.run(600_000);
      expect(statusOf(world, 'ContactPoint', 'first')).toHaveProperty('internal.journal');

      world.interference = () => undefined;
      await world.run(400_000);

      expect(statusOf(world, 'ContactPoint', 'first')).not.toHaveProperty('internal.journal');
    });
  },
);

describe('a create in doubt', () => {
  it('is counted until it is known what came of it', async () => {
    const world = await inDoubt('loseBefore');
    const metrics = new MetricRegistry(false);
    const counted = async () => {
      measure(world.operator, metrics);
      return (await metrics.text()).match(/^apphosting_in_doubt_calls\{.*$/gm);
    };

    const before = await counted();
    await world.run(600_000);

    expect(before).toEqual(['apphosting_in_doubt_calls{kind="ContactPoint",operation="create"} 1']);
    expect(await counted()).toBeNull();
  });
});

describe('a resource that waits for the name of another', () => {
  it('says what holds the other up', async () => {
    const world = await inDoubt('loseBefore');
    world.apply('ContactPoint', 'first', hook, paused);
    world.apply('ContactPoint', 'second', hook);

    await world.run(30_000);

    expect(messageOf(world, 'ContactPoint', 'second')).toContain(
      'ContactPoint team/first (which is not Ready: Paused) is creating',
    );
  });

  it('says which other one is in doubt', async () => {
    const world = await inDoubt('loseBefore');
    world.apply('ContactPoint', 'second', hook);

    await world.run(30_000);

    expect(messageOf(world, 'ContactPoint', 'second')).toBe(
      'ContactPoint team/first (which is not Ready: InDoubt) is creating "ops"; this resource waits until that create call has ended',
    );
  });

  it('gets an object of its own, and so does the other when it goes on', async () => {
    const world = await inDoubt('loseBefore');
    world.apply('ContactPoint', 'first', hook, paused);
    world.apply('ContactPoint', 'second', hook);
    await world.run(300_000);

    world.apply('ContactPoint', 'first', hook);
    await world.run(300_000);

    for (const name of ['first', 'second']) expect(conditionOf(world, 'ContactPoint', name)).toBe('True/InSync');
    expect(await created(world)).toBe(2);
  });
});

describe('an alert whose creation is in doubt', () => {
  const refusal: Disturbance = { insteadOf: { status: 404, text: '{"error":"no"}' } };

  /** The answer to the creation of an alert on the environment that `web` is bound to was lost, whether it was carried out or not; the list that would show it is `listed`. */
  async function anAlert(what: Disturbance, listed?: Disturbance): Promise<InProcess> {
    const world = await aWorld();
    let isSent = false;
    world.interference = ({ method, path }) => {
      if (isSent && path.includes('/app-env/alerts')) return listed;
      if (method !== 'POST' || !path.endsWith('/app-env/alert')) return undefined;
      isSent = true;
      return what;
    };
    world.apply('ContactPoint', 'ops', { email: { addresses: ['a@example.com'] } });
    world.apply('AppEnvironment', 'web', { externalId: 'env_web_prod' });
    world.apply('MetricAlert', 'cpu', {
      environmentRef: { name: 'web' },
      metric: 'cpu_percent',
      operator: 'GreaterThan',
      contactPointRefs: [{ name: 'ops' }],
    });
    await world.run(5_000);
    world.interference = () => undefined;
    return world;
  }

  it.each(['loseBefore', 'loseAnswer'] as const)(
    'goes with everything around it when all is deleted (%s)',
    async (what) => {
      const world = await anAlert(what);
      for (const [kind, name] of [
        ['AppEnvironment', 'web'],
        ['MetricAlert', 'cpu'],
        ['ContactPoint', 'ops'],
      ] as const)
        world.delete(kind, name);

      await world.run(900_000);

      expect(world.get('MetricAlert', 'cpu')).toBeUndefined();
      expect(await committed(world, 'alert.created')).toBe(await committed(world, 'alert.deleted'));
    },
  );

  it('goes though it was refused, and nobody knows its environment any more', async () => {
    const world = await anAlert({ insteadOf: { status: 400, text: '{"error":"no"}' } });
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('False/Rejected');
    for (const [kind, name] of [
      ['AppEnvironment', 'web'],
      ['MetricAlert', 'cpu'],
    ] as const)
      world.delete(kind, name);

    await world.run(60_000);

    expect(world.get('MetricAlert', 'cpu')).toBeUndefined();
  });

  it('is looked for where it was sent, though the reference names another environment by now', async () => {
    const world = await anAlert('loseAnswer');
    world.delete('AppEnvironment', 'web');
    await world.run(1_000);
    world.apply('AppEnvironment', 'web', { externalId: 'env_web_staging' });

    await world.run(900_000);

    expect(await committed(world, 'alert.created')).toBe(1);
    expect(statusOf(world, 'MetricAlert', 'cpu')).toMatchObject({
      internal: { ownership: 'Created' },
      environmentId: 'env_web_prod',
    });
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('False/Immutable');
  });

  it('is made where the spec says by now, once it is known that the lost call made nothing', async () => {
    const world = await anAlert('loseBefore');
    world.delete('AppEnvironment', 'web');
    await world.run(1_000);
    world.apply('AppEnvironment', 'web', { externalId: 'env_web_staging' });

    await world.run(900_000);

    expect(await committed(world, 'alert.created')).toBe(1);
    expect(statusOf(world, 'MetricAlert', 'cpu')).toMatchObject({ environmentId: 'env_web_staging' });
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
  });

  it.each(['loseBefore', 'loseAnswer'] as const)(
    'says why it is not known what came of it, and looks no more often for that (%s)',
    async (what) => {
      const world = await anAlert(what, refusal);
      let looks = 0;
      world.interference = ({ path }) => {
        if (!path.includes('/app-env/alerts')) return undefined;
        looks += 1;
        return refusal;
      };

      await world.run(600_000);

      expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('False/Forbidden');
      expect(looks).toBeLessThan(30);
      world.interference = () => undefined;
      await world.run(600_000);
      expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
      expect(await committed(world, 'alert.created')).toBe(1);
    },
  );

  it.each(['loseBefore', 'loseAnswer'] as const)(
    'goes when its environment went before anybody saw what came of it (%s)',
    async (what) => {
      const world = await anAlert(what, refusal);
      world.interference = () => undefined;
      await world.control('DELETE', '/environments/env_web_prod');
      world.delete('MetricAlert', 'cpu');

      await world.run(900_000);

      expect(world.get('MetricAlert', 'cpu')).toBeUndefined();
    },
  );

  it('goes though it was refused, and its environment went', async () => {
    const world = await anAlert({ insteadOf: { status: 400, text: '{"error":"no"}' } });
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('False/Rejected');
    await world.control('DELETE', '/environments/env_web_prod');
    world.delete('MetricAlert', 'cpu');

    await world.run(60_000);

    expect(world.get('MetricAlert', 'cpu')).toBeUndefined();
  });

  it('stays while the list of its environment is refused and the environment is there', async () => {
    const world = await anAlert('loseAnswer', refusal);
    world.interference = ({ path }) => (path.includes('/app-env/alerts') ? refusal : undefined);
    world.delete('MetricAlert', 'cpu');
    await world.run(900_000);
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('False/Forbidden');

    world.interference = () => undefined;
    await world.run(900_000);

    expect(world.get('MetricAlert', 'cpu')).toBeUndefined();
    expect(await committed(world, 'alert.deleted')).toBe(1);
  });
});
