import type { View } from '../../engine/kind/contract/pass.ts';
import type { Read } from '../../engine/ports.ts';
import { appPresetsOf, databasePresetsOf, solutionsOf, type PresetItem } from '../../hosting/requests.ts';
import { stated, unlessEmpty } from '../../base/json.ts';
import type { HostingAccountFacts } from './schema.ts';

/** Returns the presets and solutions that the service offers to an account, as far as the service shows them. */
export function catalogOf(view: View, accountId: string): HostingAccountFacts['catalog'] {
  const offered = <Item>(read: Read<Item>) => [...(view.all(read)?.items.values() ?? [])];
  return stated({
    appPresets: unlessEmpty(offered(appPresetsOf()).map(presetFacts)),
    databasePresets: unlessEmpty(offered(databasePresetsOf()).map(presetFacts)),
    solutions: unlessEmpty(
      offered(solutionsOf(accountId)).map(({ solutionSlug, requiredInputs, components, ...solution }) => ({
        ...solution,
        name: solutionSlug,
        requiredInputs: unlessEmpty(requiredInputs),
        components: unlessEmpty(
          components.map((component) => ({ ...component, dependsOn: unlessEmpty(component.dependsOn) })),
        ),
      })),
    ),
  });
}

/** Returns the status fields of a preset, without empty lists. */
function presetFacts({ versions, protocols, maxReplicas: maxContainers, ...preset }: PresetItem) {
  return { ...preset, versions: unlessEmpty(versions), protocols: unlessEmpty(protocols), maxContainers };
}
