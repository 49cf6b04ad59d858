import { describe, expect, it } from 'vitest';

import { alert, box, type Box, contactPoint } from './box.ts';

const hook = 'https://hooks.example.com/a';
const chat = 'https://chat.example.com/v1/x';

async function post(on: Box, type: string | undefined, config: unknown, changes: object = {}) {
  return on.post('/contact-point', { accountId: 'acc_demo', name: 'On call', type, config, ...changes });
}

describe('POST /contact-point', () => {
  it('answers with the contact point, not deployed anywhere and without its config', async () => {
    const { body } = await post(box(), 'email', { addresses: ['a@example.com'] });

    expect(body.contactPoint).toEqual({
      contactPointId: expect.any(String),
      name: 'On call',
      type: 'email',
      accountId: 'acc_demo',
      dashboardDeployments: [],
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.000Z',
    });
    expect(typeof body.message).toBe('string');
  });

  it('refuses what a type does not take', async () => {
    const on = box();
    const table = [
      ['chat_webhook_a', {}, 'webhookUrl is required'],
      ['chat_webhook_a', { webhookUrl: 'not an address' }, 'it is no address'],
      ['chat_webhook_b', { webhookUrl: 'http://hooks.example.com' }, 'it must be https'],
      ['chat_webhook_b', { webhookUrl: 'https://retired.example/x' }, 'retired connectors are rejected'],
      ['chat_webhook_b', { webhookUrl: 'https://a.retired.example/x' }, 'and everything under them'],
      [
        'chat_webhook_b',
        { webhookUrl: 'https://a.retired.example./x' },
        'also when the host ends with the dot of the root',
      ],
      ['chat_webhook_b', { webhookUrl: hook, channel: '#ops' }, 'it has no optional config'],
      ['chat_webhook_c', { webhookUrl: hook }, 'it must be on the chat host'],
      ['chat_webhook_c', { webhookUrl: 'http://chat.example.com/x' }, 'it must be https'],
      ['chat_webhook_a', { webhookUrl: '' }, 'an empty one is none'],
      ['incident_service', { severity: 'critical' }, 'the key is required'],
      ['incident_service', { integrationKey: '' }, 'an empty one is none'],
      ['incident_service', { integrationKey: 7 }, 'the key is a String'],
      ['webhook', { httpMethod: 'POST' }, 'url is required'],
      ['webhook', { url: hook, httpMethod: 'SING' }, 'that is no method'],
      ['email', { addresses: [] }, 'somebody must get it'],
      ['email', { addresses: 'a@example.com' }, 'addresses is an array'],
      ['email', { addresses: ['nobody'] }, 'that is no address'],
      ['pigeon', {}, 'no such type'],
      [undefined, {}, 'type is required'],
      ['email', 'a@example.com', 'config is an Object'],
      ['email', undefined, 'config is required'],
    ] as const;

    for (const [type, config, because] of table) expect((await post(on, type, config)).status, because).toBe(400);
    expect((await post(on, 'email', { addresses: ['a@example.com'] }, { accountId: undefined })).status).toBe(400);
    expect(on.ledger()).toEqual([]);
  });

  it('refuses a second name only when names are unique', async () => {
    const on = box();
    await contactPoint(on);
    await contactPoint(on);
    await on.readings({ 'names.contactPoints': 'unique' });

    expect((await post(on, 'email', { addresses: ['a@example.com'] })).status).toBe(400);
    expect((await post(on, 'email', { addresses: ['a@example.com'] }, { name: 'Other' })).status).toBe(200);
  });
});

describe('GET /contact-points', () => {
  it('lists the contact points of an account without config', async () => {
    const on = box();
    await contactPoint(on, 'one');
    await contactPoint(on, 'two');

    const { contactPoints } = (await on.get('/contact-points?accountId=acc_demo')).body;

    expect(contactPoints.map(({ name }: { name: string }) => name)).toEqual(['one', 'two']);
    expect(contactPoints[0]).not.toHaveProperty('config');
    expect((await on.get('/contact-points')).status).toBe(400);
    expect((await on.get('/contact-points?accountId=acc_none')).status).toBe(404);
    expect((await on.get('/contact-points?accountId=acc_other')).status).toBe(403);
  });

  it('takes showSecrets as a Boolean only', async () => {
    const on = box();
    const id = await contactPoint(on);

    expect((await on.get(`/contact-point?contactPointId=${id}&showSecrets=yes`)).status).toBe(400);
    const hidden = await on.get(`/contact-point?contactPointId=${id}&showSecrets=false`);
    expect(hidden).toMatchObject({ status: 200, body: { contactPointId: id } });
    expect(hidden.body).not.toHaveProperty('config');
    expect((await on.get('/contact-point?contactPointId=cp_none')).status).toBe(404);
    expect((await on.get('/contact-point')).status).toBe(400);
  });
});

describe('PATCH /contact-point', () => {
  it('checks the changed config as a whole', async () => {
    const on = box();
    const { contactPointId: id } = (await post(on, 'chat_webhook_c', { webhookUrl: chat })).body.contactPoint;

    expect((await on.patch('/contact-point', { contactPointId: id, config: { webhookUrl: hook } })).status).toBe(400);
    expect((await on.patch('/contact-point', { contactPointId: id, config: { channel: 'x' } })).status).toBe(400);
    expect((await on.patch('/contact-point', { contactPointId: id, config: [] })).status).toBe(400);
    expect((await on.patch('/contact-point', { name: 'x' })).status).toBe(400);
    expect((await on.patch('/contact-point', { contactPointId: 'cp_none' })).status).toBe(404);
    const { config } = (await on.get(`/contact-point?contactPointId=${id}&showSecrets=true`)).body;
    expect(config).toEqual({ webhookUrl: chat });
  });

  it('answers as the reading says', async () => {
    const on = box();
    const contactPointId = await contactPoint(on);
    const patch = async (reading: string) => {
      await on.readings({ 'patch.response': reading });
      return on.patch('/contact-point', { contactPointId, name: reading });
    };

    expect(Object.keys((await patch('object')).body)).toEqual(['message', 'contactPoint']);
    expect(Object.keys((await patch('messageOnly')).body)).toEqual(['message']);
    expect((await patch('empty')).text).toBe('');
  });
});

/** The texts beside the config: how long each may be, and whether a contact point needs it. */
const texts = {
  name: { min: 1, max: 50, isNeeded: true },
};

describe.each(Object.entries(texts))('the %s of a contact point', (field, { min, max, isNeeded }) => {
  it(`has ${min} to ${max} characters, counted as people count`, async () => {
    const on = box();
    const config = { addresses: ['a@example.com'] };
    const contactPointId = await contactPoint(on);
    const table = [
      ['', min === 0 ? 200 : 400],
      ['x'.repeat(max), 200],
      ['x'.repeat(max + 1), 400],
      ['🔔'.repeat(max), 200],
      ['🔔'.repeat(max + 1), 400],
      [7, 400],
    ] as const;

    for (const [value, status] of table) {
      expect((await post(on, 'email', config, { [field]: value })).status).toBe(status);
      expect((await on.patch('/contact-point', { contactPointId, [field]: value })).status).toBe(status);
    }
    expect((await post(on, 'email', config, { [field]: null })).status).toBe(400);
    expect((await post(on, 'email', config, { [field]: undefined })).status).toBe(isNeeded ? 400 : 200);
  });
});

describe('DELETE /contact-point', () => {
  it('is refused while an alert uses it, with error and details under every form of errors', async () => {
    const on = box();
    const contactPointId = await contactPoint(on);
    await alert(on, { contactPointIds: [contactPointId] });
    expect((await on.remove(`/contact-point?contactPointId=${contactPointId}`)).status).toBe(400);
    await alert(on, { contactPointIds: [contactPointId] });

    for (const form of ['error', 'message', 'nested', 'text', 'empty']) {
      await on.readings({ 'errors.body': form, 'rejection.status': '422' });
      const { status, body } = await on.remove(`/contact-point?contactPointId=${contactPointId}`);
      expect(status).toBe(422);
      expect(typeof body.error).toBe('string');
      expect(body.details).toMatch(/\b2\b/);
    }
  });

  it('answers with a message, and the next read with 404', async () => {
    const on = box();
    const id = await contactPoint(on);

    expect(Object.keys((await on.remove(`/contact-point?contactPointId=${id}`)).body)).toEqual(['message']);
    expect((await on.get(`/contact-point?contactPointId=${id}`)).status).toBe(404);
    expect((await on.remove(`/contact-point?contactPointId=${id}`)).status).toBe(404);
    expect((await on.remove('/contact-point')).status).toBe(400);
  });
});

describe('where a contact point is deployed', () => {
  const regionsOf = async (on: Box) => {
    const [point] = (await on.get('/contact-points?accountId=acc_demo')).body.contactPoints;
    return point.dashboardDeployments.map(({ region }: { region: string }) => region);
  };

  it('is the regions of the alerts that use it, two seconds later', async () => {
    const on = box();
    await alert(on);

    on.advance(1999);
    expect(await regionsOf(on)).toEqual([]);
    on.advance(1);
    const [point] = (await on.get('/contact-points?accountId=acc_demo')).body.contactPoints;
    expect(point.dashboardDeployments).toEqual([{ region: 'eu-west', dashboardContactPointUid: expect.any(String) }]);
  });

  it('is everywhere or nowhere when the reading says so', async () => {
    const everywhere = box({ readings: { 'contactPoints.deploys': 'everywhere' } });
    await contactPoint(everywhere);
    everywhere.advance(2000);
    expect(await regionsOf(everywhere)).toEqual(['eu-west', 'us-east', 'ap-south']);

    const never = box({ readings: { 'contactPoints.deploys': 'never' } });
    await alert(never);
    never.advance(60_000);
    expect(await regionsOf(never)).toEqual([]);
  });

  it('is what the control surface says', async () => {
    const on = box();
    const id = await contactPoint(on);
    await on.control('PATCH', `/contact-points/${id}`, { deployedTo: ['us-east'] });

    expect(await regionsOf(on)).toEqual(['us-east']);
    expect((await on.control('PATCH', `/contact-points/${id}`, { deployedTo: ['nowhere'] })).status).toBe(404);
  });
});
