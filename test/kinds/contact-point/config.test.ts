import { describe, expect, it } from 'vitest';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, committed, conditionOf, contactPointByHand, messageOf, statusOf } from '../support/world.ts';

const kind = 'ContactPoint';
const webhook = { url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } }, httpMethod: 'POST' };

/** A world with a contact point whose settings are read back. */
async function aVerifiedWorld(): Promise<InProcess> {
  const world = await aWorld();
  world.secret('hook', { url: 'https://hook.example.com/planted-url' });
  world.apply(kind, 'hook', { webhook, verifyConfig: true });
  await world.run(30_000);
  return world;
}

const patches = (world: InProcess) => committed(world, 'contactPoint.updated');

describe('a contact point whose settings are verified', () => {
  it('reads them back and is content with what it created', async () => {
    const world = await aVerifiedWorld();
    await world.run(300_000);

    expect(conditionOf(world, kind, 'hook')).toBe('True/InSync');
    expect(statusOf(world, kind, 'hook')['unverified']).toBeUndefined();
    expect(await patches(world)).toBe(0);
  });

  it('sets right what somebody else changed, and says it without showing a secret', async () => {
    const world = await aVerifiedWorld();
    const { externalId: contactPointId } = statusOf(world, kind, 'hook');
    const config = { url: 'https://elsewhere.example.com/planted-other', httpMethod: 'PUT' };
    await world.request('PATCH', '/contact-point', { contactPointId, config });
    await world.run(130_000);

    expect(await patches(world)).toBe(2);
    expect(conditionOf(world, kind, 'hook')).toBe('True/InSync');
    expect(JSON.stringify([world.get(kind, 'hook'), world.trace.lines])).not.toContain('planted');
  });

  it('are left as they are when it is taken over and drift is only reported', async () => {
    const world = await aWorld();
    const externalId = await contactPointByHand(world, 'ops');

    const email = { addresses: ['a@example.com'] };
    world.apply(kind, 'ops', { email, externalId, verifyConfig: true, lifecycle: { drift: 'Report' } });
    await world.run(60_000);

    expect(conditionOf(world, kind, 'ops')).toBe('True/DriftReported');
    expect(statusOf(world, kind, 'ops')['drift']).toMatchObject([{ field: 'config.addresses' }]);
    expect(await patches(world)).toBe(0);

    const edited = { addresses: ['b@example.com'] };
    world.apply(kind, 'ops', { email: edited, externalId, verifyConfig: true, lifecycle: { drift: 'Report' } });
    await world.run(60_000);

    expect(conditionOf(world, kind, 'ops')).toBe('True/InSync');
    expect(await patches(world)).toBe(1);
  });

  it('says that it may not look when the token lacks the permission', async () => {
    const world = await aWorld();
    world.secret('hosting-credentials', { baseUrl: 'http://127.0.0.1:8088', token: 'demo-admin-no-secrets' });
    await world.run(30_000);
    world.apply(kind, 'ops', { email: { addresses: ['a@example.com'] }, verifyConfig: true });
    await world.run(60_000);

    expect(conditionOf(world, kind, 'ops')).toBe('False/Forbidden');
  });
});

describe('the Secrets of a contact point', () => {
  it('lose the line end of a file in addresses and keys, and nothing in a password', async () => {
    const world = await aWorld();
    world.secret('files', {
      url: 'https://hook.example.com/x\n',
      key: 'an-integration-key\n',
      password: 'with a line end\n',
    });
    const from = (key: string) => ({ name: 'files', key });
    world.apply(kind, 'hook', {
      webhook: {
        url: { valueFrom: { secretKeyRef: from('url') } },
        username: 'us',
        password: { valueFrom: { secretKeyRef: from('password') } },
      },
    });
    world.apply(kind, 'chat', { chatB: { webhookUrl: { valueFrom: { secretKeyRef: from('url') } } } });
    world.apply(kind, 'duty', { incident: { integrationKey: { valueFrom: { secretKeyRef: from('key') } } } });
    await world.run(30_000);

    const configs = world.sent.map(({ body }) => (JSON.parse(body) as { config: object }).config);
    expect(configs).toEqual(
      expect.arrayContaining([
        { url: 'https://hook.example.com/x', username: 'us', password: 'with a line end\n' },
        { webhookUrl: 'https://hook.example.com/x' },
        { integrationKey: 'an-integration-key' },
      ]),
    );
  });
});

describe('a contact point of a chat that takes https only', () => {
  it.each(['chatB', 'chatC'])(
    'says so of %s before anything is sent, and goes on when the Secret is put right',
    async (way) => {
      const world = await aWorld();
      world.secret('hook', { url: 'http://planted.example.com/x' });
      world.apply(kind, 'chat', {
        [way]: { webhookUrl: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } } },
      });
      await world.run(30_000);

      expect(conditionOf(world, kind, 'chat')).toBe('False/Rejected');
      expect(messageOf(world, kind, 'chat')).toBe(
        `spec.${way}.webhookUrl: key "url" of Secret hook: the value is not an https URL`,
      );
      expect(world.sent).toEqual([]);

      world.secret('hook', { url: 'https://chat.example.com/x' });
      await world.run(30_000);
      expect(conditionOf(world, kind, 'chat')).toBe('True/InSync');
    },
  );
});
