import { accountChanges, type Verdicts } from './table.ts';

const spec = { solution: 'queue-worker', appName: 'workers', region: 'eu-west' };

export const solutionInstallation: Verdicts = {
  kind: 'SolutionInstallation',
  accepted: [
    { because: 'the least', spec },
    {
      because: 'inputs',
      spec: {
        ...spec,
        installationId: 'inst_1',
        inputs: {
          agentImage: { value: 'svc/sandbox-agent:latest' },
          llmProviderKeyId: { valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } },
        },
      },
    },
  ],
  refused: [
    { because: 'a region', spec: { ...spec, region: undefined }, says: 'spec.region: Required value' },
    {
      because: 'an input without a value',
      spec: { ...spec, inputs: { agentImage: {} } },
      says: 'set exactly one of value, valueFrom',
    },
    {
      because: 'an input from nowhere',
      spec: { ...spec, inputs: { agentImage: { valueFrom: {} } } },
      says: 'set exactly one of secretKeyRef, configMapKeyRef',
    },
    {
      because: 'the name of an input',
      spec: { ...spec, inputs: { ['k'.repeat(129)]: { value: 'v' } } },
      says: 'each name has at most 128 characters',
    },
    {
      because: 'too many inputs',
      spec: { ...spec, inputs: Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`i${at}`, { value: 'v' }])) },
      says: 'must have at most 50 items',
    },
    {
      because: 'nothing deletes it',
      spec: { ...spec, lifecycle: { onDelete: 'Delete' } },
      says: 'supported values: "Retain"',
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
    { because: 'inputs may change', from: spec, to: { ...spec, inputs: { agentImage: { value: 'a' } } } },
  ],
};
