// Package chart draws the charts of a report as SVG. gonum's plot package lays out axes, ticks and text, and draws them
// on this package's canvas.
//
//	Figure --> plot.Plot --> canvas --> <svg role="img"> with <title> and <desc>, to be put into a page
//
// gonum's own SVG canvas writes fixed colours. This package's canvas writes classes instead, so that the page's style
// sheet can adapt one drawing to light mode, dark mode and print. For tests and screen readers, it also adds the names
// of the elements: each line is a <g class="line" data-name="..." data-points="...">, each phase a <g class="band"
// data-name="...">. It writes no scripts, links, fonts or styles.
//
// A chart shows only what was measured: each interval is drawn as a horizontal segment of its length, gaps are left
// empty, and intervals that share a pixel are drawn as their mean with a band from minimum to maximum.
package chart
