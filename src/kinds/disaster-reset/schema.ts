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

const Configuration = fields('A configuration (the protection of one environment) that the reset wipes.', {
  configurationId: serviceId('The id of the configuration.'),
  configurationGeneration: wholeNumber('The generation of the configuration. Any other generation stops the request.'),
});

const Fields = specInAccount('The protection to wipe, and the time limit for sending the request.', {
  scope: choice(
    'Environment wipes the protection of one environment. Account wipes all protections of the account; this needs an operator that runs with --enable-account-reset.',
    ['Environment', 'Account'],
  ),
  environmentRef: environmentRef('sourceAppEnvId').optional(),
  configurationId: serviceId('The id of the configuration to wipe; required with scope Environment.').optional(),
  configurationGeneration: wholeNumber(
    'The generation of the configuration to wipe; required with scope Environment. The request is sent only while the configuration has this generation.',
  ).optional(),
  configurations: listByKey(
    'All configurations of the account that you know; required with scope Account. Nothing is sent if the account has any other configuration.',
    Configuration,
    ['configurationId'],
    { max: 100, min: 1 },
  ).optional(),
  confirmation: text(
    'The exact name of the environment, or with scope Account the exact name of the account (API field: confirmationName).',
    { min: 1, max: 256 },
  ),
  acknowledgements: recovery.acknowledgements(
    'The risks that you accept. DeletesProtectionAndLeftovers: the protection and the leftovers of its recoveries are deleted.',
    ['DeletesProtectionAndLeftovers'],
  ),
  validUntil: moment('Time after which the request is not sent; at most 24 hours after this resource was created.'),
});

/** The spec of a DisasterReset, which removes a protection and the leftovers of its recoveries. */
export const DisasterResetSpec = recovery.once(
  withRule(
    withRule(Fields, {
      rule: "self.scope != 'Environment' || (has(self.environmentRef) && has(self.configurationId) && has(self.configurationGeneration) && !has(self.configurations))",
      message:
        'with scope Environment, set environmentRef, configurationId and configurationGeneration; do not set configurations',
      check: (spec) =>
        spec.scope !== 'Environment' ||
        (spec.environmentRef !== undefined &&
          spec.configurationId !== undefined &&
          spec.configurationGeneration !== undefined &&
          spec.configurations === undefined),
    }),
    {
      rule: "self.scope != 'Account' || (has(self.configurations) && !has(self.environmentRef) && !has(self.configurationId) && !has(self.configurationGeneration))",
      message:
        'with scope Account, set configurations; do not set environmentRef, configurationId or configurationGeneration',
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
  environmentId: text('The id of the protected environment (API field: sourceAppEnvId).', { max: 128 }).optional(),
  acceptedTime: recovery.requestFacts.acceptedTime,
  finishedTime: recovery.requestFacts.finishedTime,
  wipedConfigurationCount: count('Number of configurations that the service wiped (API field: configurations).'),
  wipedDestinationCount: count('Number of recovery destinations that the service wiped (API field: destinations).'),
  pendingCleanup: recovery.pendingCleanup,
});
export type DisasterResetFacts = z.output<typeof DisasterResetFacts>;

/** Describes DisasterReset to the generator of manifests, permissions and reference pages. */
export const identity = {
  kind: 'DisasterReset',
  plural: 'disasterresets',
  shortNames: ['dreset'],
  ...recovery.request,
  summary: 'Removes a protection and the leftovers of its recoveries. The request is carried out only once.',
  spec: DisasterResetSpec,
  facts: DisasterResetFacts,
  idWord: undefined,
  columns: [
    {
      name: 'SCOPE',
      path: '.spec.scope',
      description: 'What the reset wipes: one protection (Environment) or all protections of the account (Account).',
    },
    ...recovery.stageColumns('The current stage of the reset.'),
  ],
  selectable: ['.spec.environmentRef.name', '.spec.configurationId', '.status.environmentId', '.status.stage'],
} satisfies KindIdentity;
