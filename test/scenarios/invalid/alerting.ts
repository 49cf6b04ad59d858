import { accountChanges, inAccount, longer, type Verdicts } from './table.ts';

const key = { name: 'a', key: 'b' };
const secret = { valueFrom: { secretKeyRef: key } };
const open = { valueFrom: { configMapKeyRef: key } };
const email = { email: { addresses: ['on-call@example.com'] } };
const whole = {
  lifecycle: { managementPolicy: 'Observe', adoption: 'ById', drift: 'Report', onDelete: 'Retain', onMissing: 'Stall' },
};
const types = 'set exactly one of email, webhook, chatA, chatB, chatC, incident';

export const contactPoint: Verdicts = {
  kind: 'ContactPoint',
  accepted: [
    inAccount(email, { externalId: 'cp_1', ...whole }),
    { because: 'e-mail', spec: { ...email, name: 'On call', verifyConfig: true } },
    {
      because: 'a webhook',
      spec: {
        webhook: {
          url: secret,
          httpMethod: 'PUT',
          username: 'u',
          password: secret,
        },
      },
    },
    { because: 'a URL in the open', spec: { webhook: { url: { value: 'https://hooks.example.com/a' } } } },
    { because: 'a URL from a ConfigMap', spec: { webhook: { url: open } } },
    {
      because: 'the first chat',
      spec: { chatA: { webhookUrl: secret, channel: '#ops', mentionUsers: 'U1,U2' } },
    },
    { because: 'the second chat', spec: { chatB: { webhookUrl: secret } } },
    { because: 'the third chat', spec: { chatC: { webhookUrl: secret } } },
    {
      because: 'incidents',
      spec: { incident: { integrationKey: secret, severity: 'critical' } },
    },
  ],
  refused: [
    { because: 'no type', spec: { name: 'a' }, says: types },
    {
      because: 'two types',
      spec: { ...email, chatB: { webhookUrl: secret } },
      says: types,
    },
    { because: 'nobody', spec: { email: { addresses: [] } }, says: 'should have at least 1 items' },
    { because: 'not an address', spec: { email: { addresses: ['on-call'] } }, says: 'spec.email.addresses[0]' },
    { because: 'an address twice', spec: { email: { addresses: ['a@b', 'a@b'] } }, says: 'Duplicate value: "a@b"' },
    { because: 'a long name', spec: { ...email, name: longer(50) }, says: 'may not be more than 50' },
    { because: 'an empty name', spec: { ...email, name: '' }, says: 'should be at least 1 chars long' },
    {
      because: 'a URL is given or comes from somewhere',
      spec: { webhook: { url: {} } },
      says: 'set exactly one of value, valueFrom',
    },
    {
      because: 'a URL has one origin',
      spec: { webhook: { url: { value: 'https://example.com', ...secret } } },
      says: 'set exactly one of value, valueFrom',
    },
    {
      because: 'a URL is a URL',
      spec: { webhook: { url: { value: 'example.com' } } },
      says: 'value must be a URL that begins with http:// or https://',
    },
    {
      because: 'a URL comes from one place',
      spec: { webhook: { url: { valueFrom: { secretKeyRef: key, configMapKeyRef: key } } } },
      says: 'set exactly one of secretKeyRef, configMapKeyRef',
    },
    {
      because: 'no password in a spec',
      spec: { webhook: { url: secret, password: { value: 'secret' } } },
      says: 'unknown field "spec.webhook.password.value"',
    },
    {
      because: 'no key in a ConfigMap',
      spec: { incident: { integrationKey: open } },
      says: 'unknown field "spec.incident.integrationKey.valueFrom.configMapKeyRef"',
    },
  ],
  changes: [
    ...accountChanges(email),
    {
      because: 'the type stays',
      from: email,
      to: { webhook: { url: secret } },
      says: 'the type of a contact point cannot be changed',
    },
    { because: 'the rest may change', from: email, to: { name: 'b', email: { addresses: ['b@example.com'] } } },
  ],
};

const to = [{ name: 'on-call' }];
const alert = {
  environmentRef: { externalId: 'env_web_prod' },
  metric: 'cpu_percent',
  operator: 'GreaterThan',
  contactPointRefs: to,
};

export const metricAlert: Verdicts = {
  kind: 'MetricAlert',
  accepted: [
    { because: 'the least', spec: alert },
    inAccount(alert, whole),
    {
      because: 'everything',
      spec: {
        environmentRef: { name: 'web' },
        name: 'CPU',
        description: 'Busy.',
        metric: 'ingress_p99_latency',
        operator: 'LessThan',
        threshold: 0.25,
        duration: '1h',
        aggregation: 'Last',
        queryRange: '2h',
        contactPointRefs: [{ externalId: 'cp_1' }, ...to],
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
      spec: { ...alert, environmentRef: undefined },
      says: 'spec.environmentRef: Required value',
    },
    {
      because: 'two environments',
      spec: { ...alert, environmentRef: { name: 'a', externalId: 'b' } },
      says: 'set exactly one of name, externalId',
    },
    {
      because: 'an unknown metric',
      spec: { ...alert, metric: 'disk' },
      says: 'spec.metric: Unsupported value: "disk"',
    },
    { because: 'an unknown duration', spec: { ...alert, duration: '2m' }, says: 'supported values: "1m", "5m"' },
    { because: 'nobody is told', spec: { ...alert, contactPointRefs: [] }, says: 'should have at least 1 items' },
    {
      because: 'nobody is named',
      spec: { ...alert, contactPointRefs: [{}] },
      says: 'set exactly one of name, externalId',
    },
    {
      because: 'two at once',
      spec: { ...alert, contactPointRefs: [{ ...to[0], externalId: 'a' }] },
      says: 'set exactly one of name, externalId',
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
      to: { ...alert, environmentRef: { externalId: 'env_other' } },
      says: 'environmentRef cannot be changed',
    },
    {
      because: 'the rest may change',
      from: alert,
      to: { ...alert, metric: 'cpu_usage', operator: 'LessThan', threshold: 1 },
    },
  ],
};
