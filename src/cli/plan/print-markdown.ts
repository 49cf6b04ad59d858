/** Formats a plan as a pull request comment. A fixed marker in the text lets a tool find and update the same comment each time. */
import { fewOf } from '../../base/text.ts';
import { capitalised, counted } from '../output.ts';
import type { PlanAction, Plan, PlanRow } from './model.ts';
import {
  countsInWords,
  fieldInWords,
  findingAsText,
  marks,
  summaryOf,
  titlesIn,
  type FieldStyle,
} from './print-text.ts';

/** Formats a plan as Markdown of at most `maxChars` characters; if it is too long, leaves out whole rows and says how many. */
export function planAsMarkdown(plan: Plan, maxChars: number): string {
  const titleOf = titlesIn(plan);
  const rows = plan.rows.map((row) => rowOf(row, titleOf(row)));
  const drift = plan.drift.map((row) => rowOf(row, titleOf(row)));
  for (let kept = rows.length; kept >= 0; kept = kept > 64 ? Math.floor(kept * 0.9) : kept - 1) {
    for (const shownDrift of [drift, []]) {
      const text = pageOf(plan, rows, kept, shownDrift);
      if (text.length <= maxChars) return text;
    }
  }
  return `${markerOf(plan)}\n### ${escaped(plan.name)}: ${countsInWords(plan)}\n`.slice(0, maxChars);
}

function markerOf({ name }: Plan): string {
  return `<!-- apphosting-plan:${name.replaceAll(/[^A-Za-z0-9._/-]/g, '-').replaceAll('--', '-')} -->`;
}

function pageOf(plan: Plan, rows: readonly string[], kept: number, drift: readonly string[]): string {
  const left = rows.length - kept;
  const shown = rows.slice(0, kept);
  const table = rows.length <= 5 ? [...head, ...shown] : details(`All ${rows.length}`, shown);
  const cut = left > 0 ? ['', `${counted(left, 'more row')} did not fit into the comment.`] : [];
  const differs = details(`Differences that exist already, without these manifests: ${drift.length}`, drift);
  const headline = countsInWords(plan).replace(/\d+ deletes?/, (words) => `**${words}**`);
  return [
    markerOf(plan),
    `### ${escaped(plan.name)}: ${headline}`,
    ...warnings(plan),
    ...(rows.length === 0 ? [] : ['', ...table, ...cut]),
    ...(drift.length === 0 ? [] : ['', ...differs]),
    ...plan.notes.flatMap((note) => ['', `Note: ${escaped(note)}`]),
    '',
    escaped(summaryOf(plan)),
    '',
  ].join('\n');
}

const head = ['| | Resource | Call | Fields |', '|-|-|-|-|'];

/** Writes a Markdown table that is folded until a reader clicks on its summary. */
function details(summary: string, rows: readonly string[]): readonly string[] {
  return [`<details><summary>${summary}</summary>`, '', ...head, ...rows, '', '</details>'];
}

/** Writes the warnings at the top of a plan that is posted as a pull request comment. */
function warnings(plan: Plan): readonly string[] {
  const titleOf = titlesIn(plan);
  const of = (action: PlanAction) => plan.rows.filter((row) => row.action === action);
  const listed = (rows: readonly PlanRow[]) => fewOf([...new Set(rows.map((row) => code(titleOf(row))))]);
  const [deleted, access] = [of('delete'), of('access')];
  const lines = [
    ...(plan.complete ? [] : ['**Incomplete: something could not be read, so there may be more changes than these.**']),
    ...(deleted.length === 0 ? [] : [`**Deletes** ${listed(deleted)}.`]),
    ...restartsOf(plan.rows),
    ...(access.length === 0 ? [] : [`**Changes access** ${listed(access)}.`]),
    ...plan.findings.slice(0, 20).map((finding) => escaped(findingAsText(finding))),
    ...(plan.findings.length > 20 ? [`and ${plan.findings.length - 20} more findings`] : []),
  ];
  return lines.map((line) => `> ${line}  `);
}

/**
 * Says what a change deploys, starts, stops or restarts, one sentence for each verb: `**Deploys, restarts**
 * web/production.` Each sentence names at most five environments, `running environments of` an app, or solutions, and
 * says how many more there are.
 */
function restartsOf(rows: readonly PlanRow[]): readonly string[] {
  const notes = rows.flatMap(({ note = '', restarts }) => {
    return restarts === undefined ? [] : [{ verb: note.slice(0, -restarts.length - 1), name: escaped(restarts) }];
  });
  const byVerb = [...Map.groupBy(notes, ({ verb }) => verb)];
  return byVerb.map(([verb, of]) => `**${capitalised(verb)}** ${fewOf(of.map(({ name }) => name))}.`);
}

function rowOf({ action, call = '', fields, note }: PlanRow, title: string): string {
  const listed = action === 'create' ? [] : fields;
  const words = listed.map((field) => (action === 'unknown' ? code(field.name) : fieldInWords(field, style)));
  const told = [...(note === undefined ? [] : [escaped(note)]), ...words];
  return `| ${marks[action].sign} | ${escaped(title)} | ${call} | ${told.join(', ')} |`;
}

const style: FieldStyle = { name: escaped, value: code, arrow: '→' };

/** Escapes a text for a Markdown table cell, so that it cannot break the table, make a link or mention somebody. */
function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('@', '&#64;')
    .replaceAll(/[\\`*[\]|]/g, (sign) => `\\${sign}`)
    .replaceAll(/[\r\n]+/g, ' ');
}

/** Formats a text as code in a Markdown table cell. */
function code(text: string): string {
  const plain = text.replaceAll(/[\r\n]+/g, ' ').replaceAll('|', '\\|');
  const longest = Math.max(0, ...[...plain.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return longest > 0 ? `${fence} ${plain} ${fence}` : `${fence}${plain}${fence}`;
}
