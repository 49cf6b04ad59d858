import type { View } from '../../engine/kind/contract/pass.ts';
import { appPresetsOf, databasePresetsOf, solutionsOf, type PresetItem } from '../../hosting/requests.ts';
import type { HostingAccountFacts } from './schema.ts';

type Catalog = NonNullable<HostingAccountFacts['catalog']>;

const most = 100;

/** The presets and solutions that the service offers to an account, as far as it shows them. */
export function catalogOf(view: View, accountId: string): Catalog | undefined {
  const appPresets = [...(view.all(appPresetsOf())?.items.values() ?? [])].slice(0, most);
  const databasePresets = [...(view.all(databasePresetsOf())?.items.values() ?? [])].slice(0, most);
  const solutions = [...(view.all(solutionsOf(accountId))?.items.values() ?? [])].slice(0, most);
  const catalog: Catalog = {
    ...(appPresets.length > 0 && { appPresets: appPresets.map(appPreset) }),
    ...(databasePresets.length > 0 && { databasePresets: databasePresets.map(databasePreset) }),
    ...(solutions.length > 0 && {
      solutions: solutions.map(({ solutionSlug, label, requiredInputs, components }) => ({
        name: solutionSlug,
        ...(label !== undefined && { label }),
        ...(requiredInputs.length > 0 && { requiredInputs: [...requiredInputs] }),
        ...(components.length > 0 && {
          components: components.map(({ name, preset, dependsOn }) => ({
            name,
            ...(preset !== undefined && { preset }),
            ...(dependsOn.length > 0 && { dependsOn: [...dependsOn] }),
          })),
        }),
      })),
    }),
  };
  return Object.keys(catalog).length === 0 ? undefined : catalog;
}

function common({
  name,
  label,
  versions,
  defaultVersion,
}: PresetItem): NonNullable<Catalog['databasePresets']>[number] {
  return {
    name,
    ...(label !== undefined && { label }),
    ...(versions.length > 0 && { versions: versions.slice(0, most) }),
    ...(defaultVersion !== undefined && { defaultVersion }),
  };
}

function appPreset(preset: PresetItem): NonNullable<Catalog['appPresets']>[number] {
  const { isCustom, isFunction, isJob, requiresDockerfile } = preset;
  return {
    ...common(preset),
    ...(isCustom !== undefined && { isCustom }),
    ...(isFunction !== undefined && { isFunction }),
    ...(isJob !== undefined && { isJob }),
    ...(requiresDockerfile !== undefined && { requiresDockerfile }),
  };
}

function databasePreset(preset: PresetItem): NonNullable<Catalog['databasePresets']>[number] {
  const { protocols, maxDisk, maxReplicas } = preset;
  return {
    ...common(preset),
    ...(protocols.length > 0 && { protocols: [...protocols] }),
    ...(maxDisk !== undefined && { maxDisk }),
    ...(maxReplicas !== undefined && { maxContainers: maxReplicas }),
  };
}
