import { adminOf, memberOf } from '../accounts/access.ts';
import { type AreaAnswer, type Area, type AreaCall, ok, route } from '../area.ts';
import { required, text } from '../http/fields.ts';
import { postSolution } from './create.ts';
import { catalog } from './catalog.ts';
import { installations } from './installation.ts';

/** Curated setups of several connected components. */
export const solutionsArea: Area = {
  name: 'solutions',
  collections: [installations],
  routes: [
    route('GET /solutions', ['svc:read'], listSolutions, ['accountId']),
    route(
      'POST /solutions',
      ['svc:write:config', 'svc:write:deploy'],
      (call) => postSolution(call, adminOf(call, required(call.body, 'accountId', text()))),
      ['accountId', 'solutionSlug', 'appName', 'region', 'installationId', 'inputs'],
    ),
  ],
};

function listSolutions(call: AreaCall): AreaAnswer {
  memberOf(call, required(call.query, 'accountId', text()));
  const solutions = catalog.map(({ solutionSlug, label, requiredInputs, agentImage, components }) => ({
    solutionSlug,
    label,
    requiredInputs,
    ...(agentImage === undefined ? {} : { agentImage }),
    components: components.map(({ name, dockerPreset, dependsOn }) => ({ name, dockerPreset, dependsOn })),
  }));
  return ok({ solutions });
}
