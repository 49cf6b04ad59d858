/**
 * Describes the commands that people type and the permissions that
 * these commands need, for the documentation and the shell completion.
 */
import type { CommandLine, Flags } from '../../config.ts';
import { kinds } from '../../kinds/index.ts';
import { activateCommand } from '../activate.ts';
import { pointsCommand } from '../points.ts';
import { steeringCommand, ways, type Steering } from '../day-two/steer.ts';
import { catalogCommand, inventoryCommand } from '../day-two/inventory.ts';
import { doctorCommand } from '../doctor/doctor.ts';
import { importCommand } from '../import/command.ts';
import { planCommand } from '../plan/command.ts';
import { statusCommand } from '../status/status.ts';
import { whyCommand } from '../status/why.ts';

/** The permissions that a command needs in a cluster, and when it needs them. */
export interface ClusterPermission {
  readonly verbs: readonly string[];
  /**
   * The Kubernetes resources that the permission is about, with their API group, such as `hostedapps.apphosting.dev`.
   */
  readonly resources: readonly string[];
  readonly when?: string;
}

/** A command of the command line, and the permissions that it needs. */
export interface CommandReference {
  readonly command: CommandLine<Flags>;
  readonly cluster: readonly ClusterPermission[];
  /** The permissions in the service that the token of this command needs. */
  readonly service: string;
}

function may(verb: string, resources: readonly string[], when?: string): ClusterPermission {
  return { verbs: [verb], resources, ...(when !== undefined && { when }) };
}

const ofOurs = kinds.map(({ plural }) => `${plural}.apphosting.dev`);
const reads = (when?: string) => may('list', ofOurs, when);
const serviceReads = 'the scope svc:read. The Secrets Access role is not needed.';

const asAccount = may(
  'get',
  ['hostingaccounts.apphosting.dev', 'clusterhostingaccounts.apphosting.dev', 'secrets'],
  'if --base-url and --token-file are not given: the command then reads the access token from the cluster',
);

const ofProtections = [may('get', ['disasterprotections.apphosting.dev']), asAccount];

/** All commands that people type, in the order of the help. */
export const commandReferences: readonly CommandReference[] = [
  {
    command: planCommand,
    cluster: [
      reads('with --context or --kubeconfig'),
      may(
        'get',
        ['secrets'],
        'with --context or --kubeconfig, if --base-url, --token-file and --snapshot are not given: the command then reads the access token of each account from its Secret',
      ),
    ],
    service: serviceReads,
  },
  {
    command: importCommand,
    cluster: [asAccount],
    service:
      'the scope svc:read. With the Secrets Access role, the command also reads the settings of contact points; it never stores their secrets.',
  },
  { command: statusCommand, cluster: [reads()], service: 'none' },
  { command: whyCommand, cluster: [reads()], service: 'none' },
  {
    command: doctorCommand,
    cluster: [
      may('get', ['customresourcedefinitions.apiextensions.k8s.io']),
      may('get', ['leases.coordination.k8s.io'], 'in the namespace of the operator; not needed with --pre'),
      may(
        'get',
        ['secrets'],
        'in the namespaces of the operator and of the accounts; not needed with --pre. From the Secret of an account, the command uses only the host.',
      ),
      may('get', ['serviceaccounts'], 'in the namespace of the operator; not needed with --pre'),
      may('create', ['subjectaccessreviews.authorization.k8s.io'], 'not needed with --pre'),
      reads('not needed with --pre'),
    ],
    service: 'none',
  },
  {
    command: inventoryCommand,
    cluster: [reads('with --context, --kubeconfig or --account'), asAccount],
    service: serviceReads,
  },
  { command: catalogCommand, cluster: [asAccount], service: serviceReads },
  ...(Object.keys(ways) as Steering[]).map((name): CommandReference => {
    const kind = ways[name].kind;
    const resources = kind === undefined ? ofOurs : ofOurs.filter((one) => one.startsWith(`${kind.toLowerCase()}s.`));
    return { command: steeringCommand(name), cluster: [{ verbs: ['get', 'patch'], resources }], service: 'none' };
  }),
  { command: pointsCommand, cluster: ofProtections, service: 'the scope svc:read' },
  { command: activateCommand, cluster: ofProtections, service: 'the scope svc:read' },
];

/** Formats the permissions of a command as a Markdown table. */
export function permissionsOf({ cluster, service }: CommandReference): string {
  const rows = cluster.map(({ verbs, resources, when = 'always' }) => {
    const isAll = resources.length === ofOurs.length;
    const names = isAll ? 'every kind of `apphosting.dev`' : resources.map((name) => `\`${name}\``).join(', ');
    return `| ${verbs.join(', ')} | ${names} | ${when} |`;
  });
  const table =
    rows.length === 0
      ? ['Permissions in a cluster: none.']
      : ['| Verbs | Resources | When |', '|---|---|---|', ...rows];
  return [...table, '', `Permissions in the service: ${service}`].join('\n');
}
