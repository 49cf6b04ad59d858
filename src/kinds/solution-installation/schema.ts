import type { z } from 'zod';
import { externalId, lifecycle, managementPolicy, onMissing, specInAccount } from '../../engine/kind/schema/parts.ts';
import { annotated, facts, flag, idAsShown, immutable, listOf, shown, text } from '../../engine/kind/schema/schema.ts';
import { namedValues } from '../shared/schema.ts';

/** The spec of a SolutionInstallation: a curated set-up of several components. */
export const SolutionInstallationSpec = specInAccount('The solution to install, and where to install it.', {
  solution: immutable(
    text('The name of the solution, as status.catalog of the account lists it (API field: solutionSlug).', {
      min: 1,
      max: 128,
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
    }),
    'solution cannot be changed; create another SolutionInstallation',
  ),
  appName: text('The name of the installation (API field: appName).', { min: 1, max: 128 }),
  region: text('The region to install the solution in.', { min: 1, max: 128 }),
  inputs: namedValues(
    'The inputs of the solution.',
    'An input.',
    text('The name of the input.', { min: 1, max: 128 }),
    50,
  ),
  externalId: annotated(externalId('an installation', 'installationId'), {
    description:
      'The id of an existing installation, to complete it or to upgrade its agent image (API field: installationId). Components that exist are not created again. Once the service has accepted the id, it can no longer be changed; an id that the service refused can be corrected.',
  }),
  lifecycle: lifecycle({ managementPolicy, onMissing: onMissing('Stall') }),
});
export type SolutionInstallationSpec = z.output<typeof SolutionInstallationSpec>;

/** The status fields of a SolutionInstallation. */
export const SolutionInstallationFacts = facts({
  components: listOf(
    'The components of the installation, as far as they are known.',
    shown('A component.', {
      name: text(
        'The name of the component: as the service reported it, or else as the catalog lists it, or else the name of its app.',
        { max: 256 },
      ).optional(),
      appId: idAsShown("The id of the component's app.").optional(),
      environmentId: idAsShown("The id of the component's environment (API field: appEnvId).").optional(),
      state: text(
        "The status of the component's environment in the service; Missing if the service does not list the environment.",
        { max: 64 },
      ).optional(),
    }),
    { max: 50 },
  ).optional(),
  complete: flag('True if all components exist according to the service; false if some are missing.').optional(),
  componentsRunning: text('Running components, such as 2/3.', { max: 16 }).optional(),
  postInstallNote: text(
    "The step that you must do before all components are connected. If an input comes from a Secret, the operator drops the note, because the note could repeat the secret; read the note in the service's console.",
    { max: 8192 },
  ).optional(),
});
export type SolutionInstallationFacts = z.output<typeof SolutionInstallationFacts>;
