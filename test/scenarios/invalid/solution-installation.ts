import { accountChanges, inAccount, type Verdicts } from './table.ts';

const spec = { solution: 'queue-worker', appName: 'workers', region: 'eu-west' };

export const solutionInstallation: Verdicts = {
  kind: 'SolutionInstallation',
  accepted: [
    { because: 'the least', spec },
    inAccount(spec, { lifecycle: { managementPolicy: 'Observe', onMissing: 'Stall' } }),
    {
      because: 'inputs',
      spec: {
        ...spec,
        externalId: 'inst_1',
        inputs: [
          { name: 'agentImage', value: 'svc/sandbox-agent:latest' },
          { name: 'llmProviderKeyId', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } },
          { name: 'agentPrimaryModel', valueFrom: { configMapKeyRef: { name: 'a', key: 'b' } } },
        ],
      },
    },
  ],
  refused: [
    { because: 'a region', spec: { ...spec, region: undefined }, says: 'spec.region: Required value' },
    {
      because: 'an input without a value',
      spec: { ...spec, inputs: [{ name: 'agentImage' }] },
      says: 'set exactly one of value, valueFrom',
    },
    {
      because: 'an input from nowhere',
      spec: { ...spec, inputs: [{ name: 'agentImage', valueFrom: {} }] },
      says: 'set exactly one of secretKeyRef, configMapKeyRef',
    },
    {
      because: 'the name of an input',
      spec: { ...spec, inputs: [{ name: 'k'.repeat(129), value: 'v' }] },
      says: 'may not be more than 128',
    },
    {
      because: 'too many inputs',
      spec: { ...spec, inputs: Array.from({ length: 51 }, (_, at) => ({ name: `i${at}`, value: 'v' })) },
      says: 'must have at most 50 items',
    },
    {
      because: 'an input twice',
      spec: { ...spec, inputs: [1, 2].map(() => ({ name: 'agentImage', value: 'v' })) },
      says: 'Duplicate value',
    },
    {
      because: 'nothing deletes it',
      spec: { ...spec, lifecycle: { onDelete: 'Delete' } },
      says: 'unknown field "spec.lifecycle.onDelete"',
    },
  ],
  changes: [
    ...accountChanges(spec),
    {
      because: 'the solution stays',
      from: spec,
      to: { ...spec, solution: 'sandbox-agent' },
      says: 'solution cannot be changed',
    },
    { because: 'inputs may change', from: spec, to: { ...spec, inputs: [{ name: 'agentImage', value: 'a' }] } },
  ],
};
