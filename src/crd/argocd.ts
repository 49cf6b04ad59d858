/**
 * Builds the Argo CD configuration for the operator's kinds: health checks, and actions for the web page of Argo CD.
 */
import { group, type KindIdentity } from '../engine/kind/contract/define.ts';

const forAll = ['refresh', 'pause', 'resume'];
// The kinds that activate, discard or reset a recovery have no Argo CD action, so that nobody starts such an operation
// with a single click.
const forOne: Readonly<Record<string, readonly string[]>> = {
  AppEnvironment: ['redeploy', 'stop', 'start'],
  DisasterProtection: ['validate-now'],
};

/** Lists the actions that Argo CD offers for a kind. */
export function actionsOf({ kind }: Pick<KindIdentity, 'kind'>): readonly string[] {
  return [...forAll, ...(forOne[kind] ?? [])];
}

/**
 * Builds a ConfigMap that an administrator merges into `argocd-cm`, the ConfigMap of an Argo CD installation. `lua`
 * returns the Lua script with a given name.
 */
export function argoConfig(kinds: readonly KindIdentity[], lua: (name: string) => string): object {
  const health = lua('health');
  const discovery = lua('actions/discovery');
  const data = kinds.flatMap((kind) => [
    [`resource.customizations.health.${group}_${kind.kind}`, health],
    [`resource.customizations.actions.${group}_${kind.kind}`, definitions(actionsOf(kind), discovery, lua)],
  ]);
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'argocd-cm', namespace: 'argocd', labels: { 'app.kubernetes.io/part-of': 'argocd' } },
    data: Object.fromEntries(data),
  };
}

function definitions(names: readonly string[], discovery: string, lua: (name: string) => string): string {
  const each = names.map((name) => `- name: ${name}\n  action.lua: |\n${indented(lua(`actions/${name}`), 4)}`);
  return `discovery.lua: |\n${indented(discovery, 2)}definitions:\n${each.join('')}`;
}

function indented(text: string, by: number): string {
  return text.replaceAll(/^(?=.)/gmu, ' '.repeat(by));
}
