// Package chart draws the charts of a report as SVG. gonum's plot lays out axes, ticks and text, and draws on a canvas
// of this package.
//
//	Figure --> plot.Plot --> canvas --> <svg role="img"> with <title> and <desc>, to be put into a page
//
// gonum's own SVG canvas writes fixed colours. This one writes classes, so that one drawing serves light mode, dark
// mode and print by the page's style sheet, and it names what it draws: each line is a <g class="line" data-name="..."
// data-points="...">, each phase a <g class="band" data-name="...">, for tests and screen readers. It writes no script,
// link, font or style.
//
// A chart draws only what was measured: an interval is a horizontal piece as long as the interval, a gap is a gap, and
// several intervals in one pixel are drawn as their mean with a band from minimum to maximum.
package chart
