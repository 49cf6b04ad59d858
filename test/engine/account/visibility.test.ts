import { describe, expect, it } from 'vitest';
import { aWorld, conditionOf, messageOf, statusOf, withInternal } from '../../kinds/support/world.ts';

const mail = { email: { addresses: ['a@example.com'] } };
const alert = { environmentRef: { externalId: 'env_web_prod' }, metric: 'cpu_percent', operator: 'GreaterThan' };

async function anAlert() {
  const world = await aWorld();
  world.apply('ContactPoint', 'ops', mail);
  world.apply('MetricAlert', 'cpu', { ...alert, contactPointRefs: [{ name: 'ops' }] });
  await world.run(200_000);
  const { externalId: alertId } = statusOf(world, 'MetricAlert', 'cpu') as { externalId: string };
  return { world, remove: () => world.request('DELETE', `/alert?alertId=${alertId}`) };
}

describe('an owned object that no longer shows', () => {
  it('is proved gone and made again once, although it was the only one in its list', async () => {
    const { world, remove } = await anAlert();

    await remove();
    await world.run(600_000);

    expect(conditionOf(world, 'HostingAccount', 'default')).toBe('True/InSync');
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
    expect((await world.ledger()).filter(({ kind }) => kind === 'alert.created')).toHaveLength(2);
  });

  it('does not freeze the account for good while its resource waits for what could not be made then', async () => {
    const { world, remove } = await anAlert();
    world.apply('MetricAlert', 'cpu', { ...alert, contactPointRefs: [{ name: 'late' }] });
    await world.run(10_000);
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('False/ReferenceNotReady');

    await remove();
    await world.run(130_000);
    world.apply('ContactPoint', 'late', mail);
    await world.run(600_000);

    expect(conditionOf(world, 'ContactPoint', 'late')).toBe('True/InSync');
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
  });

  it.each([
    { what: 'the spec of its resource is not valid', reason: 'InvalidSpec' },
    { what: 'the journal of its resource is damaged', reason: 'JournalDamaged' },
  ])('does not freeze the account while $what, so that its loss could not be proved', async ({ reason }) => {
    const { world, remove } = await anAlert();
    const journal = { operation: 'create', attempt: 1, endpoint: '127.0.0.1:8088', accountId: 'acc_demo', digest: '' };
    const damaged = { ...journal, startedAt: 'yesterday', deadlineSeconds: 30 };
    const spec = reason === 'InvalidSpec' ? { ...alert, metric: 'x'.repeat(600_000) } : alert;
    world.apply('MetricAlert', 'cpu', { ...spec, contactPointRefs: [{ name: 'ops' }] });
    if (reason === 'JournalDamaged')
      world.tamper(
        'MetricAlert',
        'cpu',
        withInternal((internal) => ({ ...internal, journal: damaged })),
      );
    await world.run(10_000);

    await remove();
    await world.run(130_000);
    world.apply('ContactPoint', 'late', mail);
    await world.run(600_000);

    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe(`False/${reason}`);
    expect(conditionOf(world, 'HostingAccount', 'default')).toBe('True/InSync');
    expect(conditionOf(world, 'ContactPoint', 'late')).toBe('True/InSync');
  });

  it('does not freeze the account for good when it is not to be made again', async () => {
    const { world, remove } = await anAlert();
    const contactPointRefs = [{ name: 'ops' }];
    world.apply('MetricAlert', 'cpu', { ...alert, contactPointRefs, lifecycle: { onMissing: 'Stall' } });
    await world.run(10_000);

    await remove();
    await world.run(600_000);
    world.apply('ContactPoint', 'late', mail);
    await world.run(30_000);

    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('False/ObjectGone');
    expect(conditionOf(world, 'HostingAccount', 'default')).toBe('True/InSync');
    expect(conditionOf(world, 'ContactPoint', 'late')).toBe('True/InSync');
  });
});

describe('an account that has lost sight of what it owns', () => {
  const hidden = '{"contactPoints":[]}';

  /** The lists show none of five contact points, though each is there when it is asked for by itself. */
  async function blinded() {
    const world = await aWorld();
    for (let n = 0; n < 5; n += 1) world.apply('ContactPoint', `cp-${n}`, mail);
    await world.run(200_000);
    const blind = () => {
      world.interference = ({ method, path }) =>
        method === 'GET' && path.endsWith('/contact-points') ? { insteadOf: { status: 200, text: hidden } } : undefined;
    };
    const accept = (token: string) => {
      const spec = world.get('HostingAccount', 'default')?.spec as object;
      world.apply('HostingAccount', 'default', spec, { 'apphosting.dev/accept-missing': token });
    };
    blind();
    await world.run(200_000);
    return { world, blind, accept };
  }

  it('says how to accept that, and goes on when it is accepted', async () => {
    const { world, accept } = await blinded();
    expect(conditionOf(world, 'HostingAccount', 'default')).toBe('False/VisibilityLost');
    expect(messageOf(world, 'HostingAccount', 'default')).toContain('apphosting.dev/accept-missing');
    world.apply('ContactPoint', 'late', mail);

    accept('we know');
    await world.run(70_000);

    expect(conditionOf(world, 'HostingAccount', 'default')).toBe('True/InSync');
    expect(statusOf(world, 'HostingAccount', 'default')).toMatchObject({ lastHandledAcceptMissing: 'we know' });
    expect(conditionOf(world, 'ContactPoint', 'late')).toBe('True/InSync');
  });

  it('takes no word that was given for an earlier loss, in another process either', async () => {
    const { world, blind, accept } = await blinded();
    accept('we know');
    await world.run(70_000);
    world.interference = () => undefined;
    await world.run(200_000);

    await world.crash(0);
    await world.run(130_000);
    blind();
    await world.run(200_000);

    expect(conditionOf(world, 'HostingAccount', 'default')).toBe('False/VisibilityLost');
    accept('we know that too');
    await world.run(70_000);
    expect(conditionOf(world, 'HostingAccount', 'default')).toBe('True/InSync');
  });
});
