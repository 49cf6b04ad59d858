import type { z } from 'zod';
import type { KindIdentity } from '../../engine/kind/contract/define.ts';
import { specInAccount } from '../../engine/kind/schema/parts.ts';
import {
  choice,
  facts,
  fields,
  listByKey,
  moment,
  serviceId,
  text,
  withRule,
} from '../../engine/kind/schema/schema.ts';
import * as recovery from '../recovery/schema.ts';
import { count, environmentRef, wholeNumber } from '../shared/schema.ts';

const Configuration = fields('A configuration that is wiped.', {
  configurationId: serviceId('Its id.'),
  configurationGeneration: wholeNumber('The generation that it must still have.'),
});

const Fields = specInAccount('Which protection to wipe, and until when the wipe may be sent.', {
  scope: choice(
    'Environment wipes the protection of one environment. Account wipes all of the account; the operator refuses it unless it was started to allow it.',
    ['Environment', 'Account'],
  ),
  environmentRef: environmentRef('sourceAppEnvId').optional(),
  configurationId: serviceId('The configuration that is wiped; required with scope Environment.').optional(),
  configurationGeneration: wholeNumber(
    'The generation that it must still have; required with scope Environment.',
  ).optional(),
  configurations: listByKey(
    'All configurations of the account as you know them; required with scope Account. With any other in the account nothing is sent.',
    Configuration,
    ['configurationId'],
    { max: 100, min: 1 },
  ).optional(),
  confirmation: text(
    'The exact name of the environment, or of the account with scope Account (interface: confirmationName).',
    { min: 1, max: 256 },
  ),
  acknowledgements: recovery.acknowledgements(
    'The risks that you accept. DeletesProtectionAndLeftovers: the protection and what is left of its recoveries are deleted.',
    ['DeletesProtectionAndLeftovers'],
  ),
  validUntil: moment('After this moment nothing is sent; at most 24 hours after this resource was created.'),
});

/** The spec of a DisasterReset, which removes a protection with everything that belongs to it. */
export const DisasterResetSpec = recovery.once(
  withRule(
    withRule(Fields, {
      rule: "self.scope != 'Environment' || (has(self.environmentRef) && has(self.configurationId) && has(self.configurationGeneration) && !has(self.configurations))",
      message:
        'scope: Environment needs environmentRef and configurationId with configurationGeneration, and no configurations',
      check: (spec) =>
        spec.scope !== 'Environment' ||
        (spec.environmentRef !== undefined &&
          spec.configurationId !== undefined &&
          spec.configurationGeneration !== undefined &&
          spec.configurations === undefined),
    }),
    {
      rule: "self.scope != 'Account' || (has(self.configurations) && !has(self.environmentRef) && !has(self.configurationId) && !has(self.configurationGeneration))",
      message: 'scope: Account needs configurations, and none of the fields that name one environment or configuration',
      check: (spec) =>
        spec.scope !== 'Account' ||
        (spec.configurations !== undefined &&
          spec.environmentRef === undefined &&
          spec.configurationId === undefined &&
          spec.configurationGeneration === undefined),
    },
  ),
);
export type DisasterResetSpec = z.output<typeof DisasterResetSpec>;

/** The status of a DisasterReset. */
export const DisasterResetFacts = facts({
  ...recovery.stageFacts,
  environmentId: text('The id of the environment (interface: sourceAppEnvId).', { max: 128 }).optional(),
  acceptedTime: recovery.requestFacts.acceptedTime,
  finishedTime: recovery.requestFacts.finishedTime,
  wipedConfigurationCount: count('How many configurations the service wiped (interface: configurations).'),
  wipedDestinationCount: count('How many recovery destinations the service wiped (interface: destinations).'),
  pendingCleanup: recovery.pendingCleanup,
});
export type DisasterResetFacts = z.output<typeof DisasterResetFacts>;

/** Describes DisasterReset to the generator of manifests, permissions and reference pages. */
export const identity = {
  kind: 'DisasterReset',
  plural: 'disasterresets',
  shortNames: ['dreset'],
  ...recovery.request,
  summary: 'The removal of a protection with everything that is left of its recoveries; it happens once.',
  spec: DisasterResetSpec,
  facts: DisasterResetFacts,
  idWord: undefined,
  columns: [
    { name: 'SCOPE', path: '.spec.scope', description: 'One environment, or the account.' },
    ...recovery.stageColumns('The stage of the request.'),
  ],
  selectable: ['.spec.environmentRef.name', '.spec.configurationId', '.status.environmentId', '.status.stage'],
} satisfies KindIdentity;
