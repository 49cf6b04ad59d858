import { accountChanges, longer, type Verdicts } from './table.ts';

const key = { name: 'a', key: 'b' };
const email = { email: { addresses: ['on-call@example.com'] } };
const types = 'set exactly one of email, webhook, chatA, chatB, chatC, incident';

export const contactPoint: Verdicts = {
  kind: 'ContactPoint',
  accepted: [
    { because: 'e-mail', spec: { ...email, name: 'On call', verifyConfig: true } },
    { because: 'a webhook', spec: { webhook: { urlFrom: key, httpMethod: 'PUT', username: 'u', passwordFrom: key } } },
    { because: 'the first chat', spec: { chatA: { webhookUrlFrom: key, channel: '#ops', mentionUsers: 'U1,U2' } } },
    { because: 'the second chat', spec: { chatB: { webhookUrlFrom: key } } },
    { because: 'the third chat', spec: { chatC: { webhookUrlFrom: key } } },
    { because: 'incidents', spec: { incident: { integrationKeyFrom: key, severity: 'critical' } } },
  ],
  refused: [
    { because: 'no type', spec: { name: 'a' }, says: types },
    { because: 'two types', spec: { ...email, chatB: { webhookUrlFrom: key } }, says: types },
    { because: 'nobody', spec: { email: { addresses: [] } }, says: 'should have at least 1 items' },
    { because: 'not an address', spec: { email: { addresses: ['on-call'] } }, says: 'spec.email.addresses[0]' },
    { because: 'an address twice', spec: { email: { addresses: ['a@b', 'a@b'] } }, says: 'Duplicate value: "a@b"' },
    { because: 'a long name', spec: { ...email, name: longer(50) }, says: 'may not be more than 50' },
    { because: 'an empty name', spec: { ...email, name: '' }, says: 'should be at least 1 chars long' },
    {
      because: 'no secret in a spec',
      spec: { webhook: { url: 'https://example.com' } },
      says: 'unknown field "spec.webhook.url"',
    },
  ],
  changes: [
    ...accountChanges(email),
    {
      because: 'the type stays',
      from: email,
      to: { webhook: { urlFrom: key } },
      says: 'the type of a contact point cannot be changed',
    },
    { because: 'the rest may change', from: email, to: { name: 'b', email: { addresses: ['b@example.com'] } } },
  ],
};

const to = [{ contactPointRef: { name: 'on-call' } }];
const alert = { appEnvId: 'env_web_prod', metric: 'cpu_percent', operator: 'gt', contactPoints: to };

export const metricAlert: Verdicts = {
  kind: 'MetricAlert',
  accepted: [
    { because: 'the least', spec: alert },
    {
      because: 'everything',
      spec: {
        environmentRef: { name: 'web' },
        name: 'CPU',
        description: 'Busy.',
        metric: 'ingress_p99_latency',
        operator: 'lt',
        threshold: 0.25,
        duration: '1h',
        aggregation: 'last',
        queryRange: '2h',
        contactPoints: [{ contactPointId: 'cp_1' }, ...to],
        enabled: false,
        refreshSeconds: 0,
        externalId: 'alert_1',
        lifecycle: { onDelete: 'Retain' },
      },
    },
  ],
  refused: [
    {
      because: 'no environment',
      spec: { ...alert, appEnvId: undefined },
      says: 'set exactly one of environmentRef, appEnvId',
    },
    {
      because: 'two environments',
      spec: { ...alert, environmentRef: { name: 'a' } },
      says: 'set exactly one of environmentRef, appEnvId',
    },
    {
      because: 'an unknown metric',
      spec: { ...alert, metric: 'disk' },
      says: 'spec.metric: Unsupported value: "disk"',
    },
    { because: 'an unknown duration', spec: { ...alert, duration: '2m' }, says: 'supported values: "1m", "5m"' },
    { because: 'nobody is told', spec: { ...alert, contactPoints: [] }, says: 'should have at least 1 items' },
    {
      because: 'nobody is named',
      spec: { ...alert, contactPoints: [{}] },
      says: 'set exactly one of contactPointRef, contactPointId',
    },
    {
      because: 'two at once',
      spec: { ...alert, contactPoints: [{ ...to[0], contactPointId: 'a' }] },
      says: 'set exactly one of contactPointRef, contactPointId',
    },
    { because: 'room for the mark', spec: { ...alert, description: longer(440) }, says: 'may not be more than 440' },
    { because: 'a long name', spec: { ...alert, name: longer(100) }, says: 'may not be more than 100' },
    { because: 'a number', spec: { ...alert, threshold: '80' }, says: 'must be of type number' },
  ],
  changes: [
    ...accountChanges(alert),
    {
      because: 'another environment is another alert',
      from: alert,
      to: { ...alert, appEnvId: 'env_other' },
      says: 'an alert belongs to its environment',
    },
    {
      because: 'the rest may change',
      from: alert,
      to: { ...alert, metric: 'cpu_usage', operator: 'lt', threshold: 1 },
    },
  ],
};
