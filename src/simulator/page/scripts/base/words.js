// Formats times, numbers and states as text.
import { chip } from './elements.js';

const two = (n) => String(n).padStart(2, '0');
const iso = (at) => new Date(at).toISOString();
export const timeOf = (at) => iso(at).slice(11, 19);
export const dayAndTime = (at) => `${iso(at).slice(0, 10)} ${timeOf(at)}`;

export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return s % 60 === 0 ? `${s / 60} min` : `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h${s % 3600 < 60 ? '' : ` ${Math.floor((s % 3600) / 60)} min`}`;
  return `${Math.floor(s / 86400)} d${s % 86400 < 3600 ? '' : ` ${Math.floor((s % 86400) / 3600)} h`}`;
}

/** Formats JSON with another indentation; leaves a text that is not JSON unchanged. */
export function indented(text, indent) {
  try {
    return JSON.stringify(JSON.parse(text), undefined, indent);
  } catch {
    return text;
  }
}

/** Joins facts into one line of text; leaves out facts that are false or undefined. */
export const listed = (...facts) => facts.filter(Boolean).join(', ');

export const count = (n, one, many = `${one}s`) => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

export const statusOf = { running: ['ok', 'dot'], stopped: ['', 'square'], updating: ['info', 'half'] };
export const stateOf = {
  Firing: ['bad', 'alert'],
  Error: ['bad', 'cross'],
  Pending: ['warn', 'half'],
  NoData: ['', 'ring'],
  Normal: ['ok', 'check'],
  Paused: ['', 'pause'],
};
export const readinessOf = {
  ready: ['ok', 'shield'],
  preparing: ['info', 'half'],
  needsAttention: ['warn', 'alert'],
  failed: ['bad', 'cross'],
};
export const chipFor = (table, word) => chip(...(table[word] ?? ['', 'diamond']), word);
