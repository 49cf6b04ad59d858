/** `apphosting doctor`: checks whether an installation of the operator is in order. */
import manifest from '../../../package.json' with { type: 'json' };
import { choice, duration, output, text, texts, type CommandLine, type Flags } from '../../config.ts';
import { operatorNamespaceFlag } from '../account/in-cluster.ts';
import { readObjects } from '../cluster/objects.ts';
import { clusterFlags, openCluster } from '../cluster/open.ts';
import { command } from '../frame.ts';
import { columns, exitCodes, writeOrExplain } from '../output.ts';
import { bundleOf } from './bundle.ts';
import { examine, type CheckFinding, type CheckVerdict } from './checks.ts';

/** Describes the command `apphosting doctor`: its name, flags and notes. */
export const doctorCommand = {
  name: 'doctor',
  summary:
    'Checks an installation: the CRDs, the clocks, the lease, key and permissions of the operator, every account and every resource. Each\ncheck is independent; a check that is not allowed names the missing permission.',
  flags: {
    ...clusterFlags,
    namespace: { short: 'n', ...text('check the resources in this namespace only; by default in all', 'NAME') },
    allNamespaces: { short: 'A', help: 'check the resources in all namespaces, even if --namespace is given' },
    operatorNamespace: operatorNamespaceFlag,
    pre: { help: 'run only the checks that make sense before the operator is installed' },
    failOn: choice('the lowest severity of a finding that leads to exit code 2', ['error', 'warning']),
    skip: texts('leave out findings with this code; with =OBJECT, only those about this object', 'CODE[=OBJECT]'),
    wait: {
      help: 'repeat the checks until nothing is found, for at most this long, such as 2m',
      value: 'TIME',
      schema: duration(1, 86_400).optional(),
    },
    bundle: text('also write a file for a bug report, without secrets and without messages of the service', 'FILE'),
    output: output(
      ['text', 'short', 'json', 'yaml', 'markdown'],
      'the output format; short leaves out checks that passed',
    ),
  },
  notes: [
    'Exit codes: 0 success, 1 a check could not be made or the bundle could not be written, 2 there are findings of at least the severity in --fail-on, 64 wrong usage.',
  ],
} satisfies CommandLine<Flags>;

/** Runs `apphosting doctor`. */
export const doctor = command(doctorCommand, async ({ settings, cluster: given, time }) => {
  await using cluster = await openCluster(settings, given);
  const { api, server } = cluster;
  const { operatorNamespace, pre: isBefore } = settings;
  const namespace = settings.allNamespaces ? undefined : settings.namespace;
  const until = time.nowMs() + (settings.wait ?? 0) * 1_000;
  const isSkipped = ({ code, object }: CheckFinding) =>
    settings.skip.includes(code) || settings.skip.includes(`${code}=${object}`);
  let findings: readonly CheckFinding[];
  for (;;) {
    const all = await examine({ api, operatorNamespace, namespace, time, isBefore });
    findings = all.filter((finding) => !isSkipped(finding));
    if (codeOf(findings, settings.failOn) === exitCodes.fine || time.nowMs() >= until) break;
    await time.pause(2_000);
  }
  let problems: readonly string[] = [];
  if (settings.bundle !== undefined) {
    const { objects } = await readObjects(api, namespace);
    const about = { version: manifest.version, server, at: new Date(time.nowMs()).toISOString() };
    problems = await writeOrExplain(settings.bundle, bundleOf(findings, objects, about));
  }
  const text = textOf(findings, settings.output, server);
  return { problems, data: findings, text, code: codeOf(findings, settings.failOn) };
});

function codeOf(findings: readonly CheckFinding[], failOn: 'error' | 'warning'): number {
  const has = (verdict: CheckVerdict) => findings.some((finding) => finding.verdict === verdict);
  if (has('unknown')) return exitCodes.unknown;
  return has('error') || (failOn === 'warning' && has('warning')) ? exitCodes.found : exitCodes.fine;
}

function textOf(findings: readonly CheckFinding[], output: string, server: string): string {
  if (output === 'markdown') return asMarkdown(findings, server);
  const told = output === 'short' ? findings.filter(({ verdict }) => verdict !== 'ok') : findings;
  const rows = told.map(({ verdict, code, object, message, remedy }) => {
    return [verdict, code, object, remedy === undefined ? message : `${message}. ${remedy}`];
  });
  return [`apphosting ${manifest.version}, ${server}`, ...columns(rows), countOf(told), ''].join('\n');
}

function countOf(findings: readonly CheckFinding[]): string {
  const counts = (['error', 'warning', 'unknown'] as const).flatMap((verdict) => {
    const count = findings.filter((finding) => finding.verdict === verdict).length;
    return count === 0 ? [] : [`${count} ${verdict}${count === 1 || verdict === 'unknown' ? '' : 's'}`];
  });
  return counts.length === 0 ? 'everything is in order' : counts.join(', ');
}

function asMarkdown(findings: readonly CheckFinding[], server: string): string {
  const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('@', '&#64;');
  const rows = findings.map(({ verdict, code, object, message, remedy = '' }) => {
    return `| ${verdict} | ${code} | ${cell(object)} | ${cell(message)} | ${cell(remedy)} |`;
  });
  const head = ['| | Check | Object | Finding | What to do |', '|-|-|-|-|-|'];
  return `${[`apphosting ${manifest.version}, ${cell(server)}: ${countOf(findings)}`, '', ...head, ...rows].join('\n')}\n`;
}
