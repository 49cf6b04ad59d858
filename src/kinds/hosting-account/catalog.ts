import type { View } from '../../engine/kind/contract/pass.ts';
import type { Read } from '../../engine/ports.ts';
import { appPresetsOf, databasePresetsOf, solutionsOf, type PresetItem } from '../../hosting/requests.ts';
import { stated } from '../../base/json.ts';
import type { HostingAccountFacts } from './schema.ts';

const most = 100;

/** Cuts a list to the length that status can hold; undefined if it is empty. */
function listed<Item>(items: Iterable<Item>): Item[] | undefined {
  const some = [...items].slice(0, most);
  return some.length === 0 ? undefined : some;
}

/** The presets and solutions that the service offers to an account, as far as it shows them. */
export function catalogOf(view: View, accountId: string): HostingAccountFacts['catalog'] {
  const offered = <Item>(read: Read<Item>) => [...(view.all(read)?.items.values() ?? [])];
  return stated({
    appPresets: listed(offered(appPresetsOf()).map(presetShown)),
    databasePresets: listed(offered(databasePresetsOf()).map(presetShown)),
    solutions: listed(
      offered(solutionsOf(accountId)).map(({ solutionSlug, requiredInputs, components, ...solution }) => ({
        ...solution,
        name: solutionSlug,
        requiredInputs: listed(requiredInputs),
        components: listed(components.map((component) => ({ ...component, dependsOn: listed(component.dependsOn) }))),
      })),
    ),
  });
}

/** A preset with everything that the service shows of it; status drops what its part of the catalog has no field for. */
function presetShown({ versions, protocols, maxReplicas: maxContainers, ...preset }: PresetItem) {
  return { ...preset, versions: listed(versions), protocols: listed(protocols), maxContainers };
}
