import type { Verdicts } from './table.ts';

const spec = { credentialsRef: { name: 'hosting-credentials' }, externalId: 'acc_demo' };
const whole = {
  ...spec,
  dangerousCredentialsRef: { name: 'dangerous' },
  lifecycle: { managementPolicy: 'Observe', adoption: 'ByName' },
  pollSeconds: 10,
  budget: { requestsPerSecond: 200, concurrency: 16 },
};

export const hostingAccount: Verdicts = {
  kind: 'HostingAccount',
  accepted: [
    { because: 'the least', spec },
    { because: 'everything', spec: whole },
  ],
  refused: [
    {
      because: 'an account has an id',
      spec: { ...spec, externalId: undefined },
      says: 'spec.externalId: Required value',
    },
    { because: 'an id has no spaces', spec: { ...spec, externalId: 'acc demo' }, says: 'spec.externalId' },
    { because: 'polling has a floor', spec: { ...spec, pollSeconds: 9 }, says: 'greater than or equal to 10' },
    { because: 'seconds are whole', spec: { ...spec, pollSeconds: 10.5 }, says: 'must be of type integer' },
    {
      because: 'a closed set of words',
      spec: { ...spec, lifecycle: { managementPolicy: 'observe' } },
      says: 'supported values: "Manage", "Observe"',
    },
    {
      because: 'names follow Kubernetes',
      spec: { ...spec, credentialsRef: { name: 'A B' } },
      says: 'spec.credentialsRef.name',
    },
    {
      because: 'no reference leaves its namespace',
      spec: { ...spec, credentialsRef: { name: 'a', namespace: 'b' } },
      says: 'unknown field "spec.credentialsRef.namespace"',
    },
    { because: 'secrets are only referred to', spec: { ...spec, token: 'abc' }, says: 'unknown field "spec.token"' },
  ],
  changes: [
    {
      because: 'the account stays',
      from: spec,
      to: { ...spec, externalId: 'acc_2' },
      says: 'externalId cannot be changed',
    },
    { because: 'the Secret may change', from: spec, to: { ...spec, credentialsRef: { name: 'new' } } },
  ],
};

const expression = (key: object) => ({ ...spec, allowedNamespaces: { selector: { matchExpressions: [key] } } });

export const clusterHostingAccount: Verdicts = {
  kind: 'ClusterHostingAccount',
  accepted: [
    { because: 'nobody is allowed', spec },
    { because: 'everything that any account has', spec: whole },
    {
      because: 'names and labels',
      spec: { ...spec, allowedNamespaces: { names: ['a', 'b'], selector: { matchLabels: { team: 'a' } } } },
    },
    { because: 'an expression', spec: expression({ key: 'team', operator: 'In', values: ['a'] }) },
  ],
  refused: [
    {
      because: 'names are a set',
      spec: { ...spec, allowedNamespaces: { names: ['a', 'a'] } },
      says: 'Duplicate value: "a"',
    },
    { because: 'In needs values', spec: expression({ key: 'team', operator: 'In' }), says: 'In and NotIn need values' },
    {
      because: 'Exists takes none',
      spec: expression({ key: 'team', operator: 'Exists', values: ['a'] }),
      says: 'Exists and DoesNotExist take no values',
    },
    {
      because: 'labels have a length',
      spec: { ...spec, allowedNamespaces: { selector: { matchLabels: { ['k'.repeat(318)]: 'v' } } } },
      says: 'each name must have at most 317 characters',
    },
  ],
  changes: [
    {
      because: 'the account stays',
      from: spec,
      to: { ...spec, externalId: 'acc_2' },
      says: 'externalId cannot be changed',
    },
  ],
};
