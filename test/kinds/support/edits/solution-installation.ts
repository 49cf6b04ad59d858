import { SolutionInstallationSpec as schema } from '../../../../src/kinds/solution-installation/schema.ts';
import { accountEdits, lifecycleEdits, quiet, refused, sent, type Edits, type Spec } from './table.ts';

const agentAuthenticationMode = 'PERSONAL_SUBSCRIPTION';
const whole = { accountId: 'acc_demo', solutionSlug: 'sandbox-agent', appName: '{row}', region: 'eu-west' };
const installed = { solution: 'sandbox-agent', appName: '{row}', region: 'eu-west' };
const mode = { name: 'agentAuthenticationMode', value: agentAuthenticationMode };
const withImage = (agentImage: Spec): Spec => ({ ...installed, inputs: [mode, { name: 'agentImage', ...agentImage }] });
const from = (key: string) => ({ valueFrom: { secretKeyRef: { name: 'values', key } } });
const fromConfigMap = (key: string) => ({ valueFrom: { configMapKeyRef: { name: 'files', key } } });
const first = withImage({ value: 'svc/sandbox-agent:1' });
const tooLate = quiet('False/Immutable');

/** The service upgrades an installation when everything is repeated with its id and another image. */
const upgraded = (agentImage: string) =>
  sent('POST /solutions', { ...whole, installationId: '{id}', inputs: { agentAuthenticationMode, agentImage } });

/** Every field of a SolutionInstallation. */
export const solutionInstallationEdits: Edits = {
  kind: 'SolutionInstallation',
  schema,
  rows: [
    ...accountEdits(first),
    ...lifecycleEdits(first, {
      managementPolicy: ['Manage', 'Observe'],
      onMissing: ['Stall', 'Recreate'],
    }),
    {
      field: 'solution',
      before: first,
      changed: { to: { ...first, solution: 'queue-worker' }, comes: refused('solution cannot be changed') },
    },
    { field: 'appName', before: first, changed: { to: { ...first, appName: 'other' }, comes: tooLate } },
    { field: 'region', before: first, changed: { to: { ...first, region: 'us-east' }, comes: tooLate } },
    {
      field: 'externalId',
      before: first,
      changed: { to: { ...first, externalId: '{id}' }, comes: quiet() },
      removed: { to: first, comes: quiet() },
    },
    {
      field: 'inputs',
      before: first,
      removed: { comes: tooLate, leftover: ['inputs.agentAuthenticationMode', 'inputs.agentImage'] },
    },
    {
      field: 'inputs[].value',
      before: first,
      changed: { to: withImage({ value: 'svc/sandbox-agent:2' }), comes: upgraded('svc/sandbox-agent:2') },
      removed: { to: { ...installed, inputs: [mode] }, comes: quiet(), leftover: ['inputs.agentImage'] },
    },
    {
      field: 'inputs[].name',
      before: first,
      changed: { to: { ...installed, inputs: [mode, { name: 'agentPicture', value: 'x' }] }, comes: tooLate },
    },
    {
      field: 'inputs[].value',
      before: first,
      changed: {
        to: {
          ...installed,
          inputs: [
            { ...mode, value: 'API_KEY' },
            { name: 'agentImage', value: 'svc/sandbox-agent:1' },
          ],
        },
        comes: tooLate,
      },
    },
    {
      field: 'inputs[].valueFrom',
      before: withImage(from('imageA')),
      removed: { to: withImage({}), comes: refused('set exactly one of value, valueFrom') },
    },
    {
      field: 'inputs[].valueFrom.secretKeyRef',
      before: withImage(from('imageA')),
      changed: { to: withImage(from('imageB')), comes: upgraded('svc/sandbox-agent:2') },
      removed: { to: withImage({ valueFrom: {} }), comes: refused('set exactly one of secretKeyRef') },
    },
    {
      field: 'inputs[].valueFrom.configMapKeyRef',
      before: withImage(fromConfigMap('imageA')),
      changed: { to: withImage(fromConfigMap('imageB')), comes: upgraded('svc/sandbox-agent:2') },
      removed: { to: withImage(from('imageA')), comes: quiet() },
    },
  ],
};
