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
    appPresets: listed(offered(appPresetsOf()).map(appPreset)),
    databasePresets: listed(offered(databasePresetsOf()).map(databasePreset)),
    solutions: listed(
      offered(solutionsOf(accountId)).map(({ solutionSlug, label, requiredInputs, components }) => ({
        name: solutionSlug,
        label,
        requiredInputs: listed(requiredInputs),
        components: listed(
          components.map(({ name, preset, dependsOn }) => ({ name, preset, dependsOn: listed(dependsOn) })),
        ),
      })),
    ),
  });
}

function appPreset(preset: PresetItem) {
  const { name, label, versions, defaultVersion, isCustom, isFunction, isJob, requiresDockerfile } = preset;
  return { name, label, versions: listed(versions), defaultVersion, isCustom, isFunction, isJob, requiresDockerfile };
}

function databasePreset(preset: PresetItem) {
  const { name, label, versions, defaultVersion, protocols, maxDisk, maxReplicas: maxContainers } = preset;
  return {
    name,
    label,
    versions: listed(versions),
    defaultVersion,
    protocols: listed(protocols),
    maxDisk,
    maxContainers,
  };
}
