import{s as e}from"./drawing.js";function t(){let t=new e([document],{onName:()=>{},onPin:()=>{},isOfPage:!0});return t.light(),t}export{t as followItems};
