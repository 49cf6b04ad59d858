import type { z } from 'zod';
import { externalId, lifecycle, managementPolicy, onMissing, specInAccount } from '../../engine/kind/schema/parts.ts';
import { annotated, facts, flag, idAsShown, immutable, listOf, shown, text } from '../../engine/kind/schema/schema.ts';
import { namedValues } from '../shared/schema.ts';

/** A curated set-up of several components. */
export const SolutionInstallationSpec = specInAccount('Which solution to install, and where.', {
  solution: immutable(
    text('The solution, by the name under which status.catalog of the account lists it (interface: solutionSlug).', {
      min: 1,
      max: 128,
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
    }),
    'solution cannot be changed; create another SolutionInstallation',
  ),
  appName: text('The name for what is created.', { min: 1, max: 128 }),
  region: text('The region to install in.', { min: 1, max: 128 }),
  inputs: namedValues(
    'What the solution asks for.',
    'An input.',
    text('Its name in the service.', { min: 1, max: 128 }),
    50,
  ),
  externalId: annotated(externalId('an installation', 'installationId'), {
    description:
      'The id of an existing installation, to complete or continue it. It is sent with the request, which then creates only what is missing (interface: installationId). It cannot be changed once the service has answered.',
  }),
  lifecycle: lifecycle({
    managementPolicy,
    onMissing: onMissing('Stall'),
  }),
});
export type SolutionInstallationSpec = z.output<typeof SolutionInstallationSpec>;

/** The status fields of an installation. */
export const SolutionInstallationFacts = facts({
  components: listOf(
    'What was created.',
    shown('A component.', {
      name: text('The name of the component: from the answer to the installation, else from the catalog or its app.', {
        max: 256,
      }).optional(),
      appId: idAsShown('The id of its app.').optional(),
      environmentId: idAsShown('The id of its environment (interface: appEnvId).').optional(),
      state: text('The status of its environment, in the words of the service; Missing where it does not show.', {
        max: 64,
      }).optional(),
    }),
    { max: 50 },
  ).optional(),
  complete: flag(
    'Whether the service reported all components as created; false when it said that some are missing.',
  ).optional(),
  componentsRunning: text('How many components run, of all: 2/3.', { max: 16 }).optional(),
  postInstallNote: text(
    'What you must do before all components are connected. Not shown where an input is a secret: read it in the service.',
    { max: 8192 },
  ).optional(),
});
export type SolutionInstallationFacts = z.output<typeof SolutionInstallationFacts>;
